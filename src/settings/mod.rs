pub mod file;
pub mod load;
pub mod merge;
pub mod model;
#[cfg(test)]
pub mod tests;
