//! A glob from a settings file, checked when read and compiled when first asked.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// `*` and `?` stay within one path component; `**` crosses them. Compiling
/// costs twenty microseconds, which a name of the built-in contract never pays.
#[derive(Clone, Debug)]
pub struct Pattern {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the glob is empty".to_owned());
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let glob = glob.map_err(|e| format!("`{text}` is not a glob: {}", e.kind()))?;
        Ok(Self {
            glob,
            matcher: OnceLock::new(),
        })
    }

    pub fn as_str(&self) -> &str {
        self.glob.glob()
    }

    pub fn matcher(&self) -> &GlobMatcher {
        self.matcher.get_or_init(|| self.glob.compile_matcher())
    }

    /// A name with a NUL or a line break matches nothing, whatever the glob says.
    pub fn matches(&self, name: &str) -> bool {
        !name.contains(['\0', '\n', '\r']) && self.matcher().is_match(name)
    }

    /// Whether the glob has no shape at all: it takes names nobody would choose.
    pub(super) fn matches_everything(&self) -> bool {
        ["q", "Zq-0~.xq"].iter().all(|name| self.matches(name))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob
    }
}
