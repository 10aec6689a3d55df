use crate::target::Target;
pub struct Scene<'a> {
    pub cwd: &'a str,
    pub home: Option<&'a str>,
    pub project_dir: Option<&'a str>,
    pub disk: &'a dyn Disk,
}
pub trait Disk {
    fn entries(&self, dir: &str) -> Vec<String>;
    fn is_dir(&self, path: &str) -> bool;
    fn text(&self, path: &str) -> Option<String>;
}
pub fn targets(_: &str, _: &Scene<'_>) -> Vec<Target> {
    Vec::new()
}
pub fn powershell_targets(_: &str, _: &Scene<'_>) -> Vec<Target> {
    Vec::new()
}
