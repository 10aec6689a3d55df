//! Names and paths as settings write them: what no entry can be is an error.

use std::collections::BTreeMap;

use crate::base::actor::AgentName;
use crate::contract::glob::Pattern;
use crate::settings::file::{Words, nearest};
use crate::settings::model::ROLES;

pub(crate) fn globs(
    key: &str,
    texts: &Option<Vec<String>>,
    sites: &[Pattern],
) -> Result<Vec<Pattern>, String> {
    let texts = texts.iter().flatten();
    texts.map(|text| glob(key, text, sites)).collect()
}

pub(crate) fn glob(key: &str, text: &str, sites: &[Pattern]) -> Result<Pattern, String> {
    check_name(key, text, sites)?;
    Pattern::parse(text).map_err(|e| format!("`{key}`: {e}"))
}

/// Refuses a name that no entry can have, and says what to write.
fn check_name(key: &str, text: &str, sites: &[Pattern]) -> Result<(), String> {
    let plain = plain(text);
    let name = plain.trim_start_matches("./").trim_matches('/');
    // What begins with a wildcard may be a directory of the site as well.
    let begins = |site: &Pattern| site.as_str().starts_with(|c| !"*?[{".contains(c));
    let is_site = |dir: &str| sites.iter().any(|site| begins(site) && site.matches(dir));
    let mut ends = name.rmatch_indices('/').map(|(at, _)| at);
    let site = ends.find(|end| is_site(&name[..*end]));
    let below = site.map_or(name, |end| &name[end + 1..]);
    if text.trim().is_empty() || below == text && has_plain_parts(text) {
        return Ok(());
    }
    let shown = text.escape_debug();
    if !has_plain_parts(below) {
        return Err(format!(
            "`{key}`: `{shown}` is not a relative path without `..`"
        ));
    }
    let or_dir = match text.ends_with('/') {
        true => ", and name directories in `subdirectories`",
        false => "",
    };
    Err(format!(
        "`{key}`: no name is like `{shown}`: names are relative to the site; write `{below}`{or_dir}"
    ))
}

/// A path as settings write it: without blanks around it, and with `/` between its parts.
fn plain(text: &str) -> String {
    text.trim().replace('\\', "/")
}

fn has_plain_parts(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

pub(crate) fn names(
    key: &str,
    texts: &Option<Vec<String>>,
    sites: &[Pattern],
) -> Result<Vec<String>, String> {
    let plain = |text: &String| match text.contains(['*', '?']) {
        true => Err(format!(
            "`{key}`: `{text}` is no plain name; globs go into `extra_globs`"
        )),
        false => {
            let name = relative(key, text, Root::Refused)?;
            check_name(key, &name, sites).map(|()| name)
        }
    };
    texts.iter().flatten().map(plain).collect()
}

/// Whether a path may be the root itself.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Root {
    Allowed,
    Refused,
}

/// A path below a root, without `./` in front and `/` behind.
pub(crate) fn relative(key: &str, text: &str, root: Root) -> Result<String, String> {
    let plain = plain(text);
    if plain != text && has_plain_parts(&plain) {
        let shown = text.escape_debug();
        return Err(format!(
            "`{key}`: no path is like `{shown}`; write `{plain}`"
        ));
    }
    let path = text.trim_end_matches('/');
    let path = if path == "." {
        ""
    } else {
        path.strip_prefix("./").unwrap_or(path)
    };
    let is_below = plain == text
        && has_plain_parts(path)
        && !path.starts_with('~')
        && !path.contains(['\0', '\n', '\r']);
    let is_root = path.is_empty() && text.starts_with('.');
    if is_below || is_root && root == Root::Allowed {
        return Ok(path.to_owned());
    }
    if is_root {
        return Err(format!(
            "`{key}`: `{text}` is the root itself, nothing below it"
        ));
    }
    Err(format!(
        "`{key}`: `{}` is not a relative path without `..`",
        text.escape_debug()
    ))
}

/// Names of programs, without directories.
pub(super) fn programs(names: &Option<Vec<String>>) -> Result<Vec<String>, String> {
    let plain = |name: &String| match name.is_empty() || name.contains(['/', ' ']) {
        true => Err(format!(
            "`programs`: `{name}` is no name of a program; leave directories and arguments out"
        )),
        false => Ok(name.clone()),
    };
    names.iter().flatten().map(plain).collect()
}

/// Reads `agent: role` as well as `role: [agents]`.
pub(super) fn roles(file: &BTreeMap<String, Words>) -> Result<BTreeMap<String, String>, String> {
    let mut roles = BTreeMap::new();
    for (key, Words(values)) in file {
        let mut map = |agent: &str, role: &str| {
            roles.insert(AgentName::parse(agent).as_str().to_owned(), role.to_owned())
        };
        match values.as_slice() {
            [role] if ROLES.contains(&role.as_str()) => {
                map(key, role);
            }
            agents if ROLES.contains(&key.as_str()) => {
                for agent in agents {
                    map(agent, key);
                }
            }
            others => {
                let words = match others {
                    [value] => [value, key],
                    _ => [key, key],
                };
                let near = |word: &String| Some((word.clone(), nearest(word, ROLES)?));
                let (word, near) = (words.into_iter().find_map(near))
                    .unwrap_or_else(|| (words[0].clone(), "developer"));
                let known = ROLES.join(", ");
                return Err(format!(
                    "`roles.{key}`: `{word}` is not a role ({known}); did you mean `{near}`?"
                ));
            }
        }
    }
    Ok(roles)
}
