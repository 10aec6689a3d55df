//! PowerShell's values: quoted text, variables, lists, static calls.

use super::byte::is_name_byte;
use super::cmdlets;
use super::field::Field;
use super::powershell::{MAX_CLASS, PowerShell, Values};
use super::value::append;

impl PowerShell<'_, '_, '_> {
    /// `[IO.File]::WriteAllText(…)`; `None` when it is no static call.
    pub(super) fn static_call(&mut self) -> Option<Values> {
        let rest = self.rest();
        let named = |b: &u8| b.is_ascii_alphanumeric() || *b == b'.';
        let len = rest
            .bytes()
            .skip(1)
            .take(MAX_CLASS)
            .take_while(named)
            .count();
        let class = rest.get(1..=len)?;
        let after = rest.get(len + 1..)?.strip_prefix("]::")?;
        let len = after.bytes().take_while(|b| is_name_byte(*b)).count();
        let method = after.get(..len)?.to_ascii_lowercase();
        let class = class.to_ascii_lowercase();
        self.at += 1 + class.len() + 3 + len;
        let mut arguments = Vec::new();
        if self.eat("(") {
            loop {
                self.blanks();
                let before = self.at;
                let value = self.value();
                arguments.push(slashed(&value));
                self.blanks();
                while !matches!(self.peek(), None | Some(',' | ')')) {
                    // An operator, or an expression that is not followed.
                    self.at += self.peek().map_or(1, char::len_utf8);
                }
                if !self.eat(",") || self.at == before {
                    break;
                }
            }
            self.eat(")");
        }
        Some(cmdlets::static_call(
            self.shell, &class, &method, &arguments,
        ))
    }

    /// Values with commas between them.
    pub(super) fn values(&mut self) -> Values {
        let mut values = self.value();
        loop {
            let at = self.at;
            self.blanks();
            if !self.eat(",") {
                self.at = at;
                return values;
            }
            while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
                self.at += 1;
            }
            values.extend(self.value());
        }
    }

    /// One value: pieces side by side are one text.
    fn value(&mut self) -> Values {
        let mut values = vec![Field::literal("")];
        let start = self.at;
        while let Some(c) = self.peek() {
            let piece = match c {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '@' => match self.at_sign() {
                    Some(piece) => piece,
                    None => break,
                },
                '$' => self.dollar(),
                '(' => self.parenthesized(),
                '`' => {
                    self.at += 1;
                    let escaped = self.peek().map(String::from).unwrap_or_default();
                    self.at += escaped.len();
                    vec![Field::literal(escaped)]
                }
                ']' if self.at == start => break,
                c if u8::try_from(c).is_ok_and(ends_value) => break,
                _ => {
                    let rest = self.rest();
                    let is_plain = |byte: &&u8| {
                        let byte = **byte;
                        !(ends_value(byte)
                            || matches!(byte, b'\'' | b'"' | b'@' | b'$' | b'(' | b'`'))
                    };
                    let len = rest
                        .as_bytes()
                        .iter()
                        .skip(c.len_utf8())
                        .take_while(is_plain)
                        .count();
                    let run = rest.get(..c.len_utf8() + len);
                    let run = Field::literal(run.unwrap_or(""));
                    self.at += run.text.len();
                    vec![run]
                }
            };
            append(&mut values, &piece);
        }
        if self.at == start {
            Values::new()
        } else {
            values
        }
    }

    fn parenthesized(&mut self) -> Values {
        let values = self.subexpression();
        self.members();
        values
    }

    /// What stands in parentheses gives, the first of them at the cursor.
    fn subexpression(&mut self) -> Values {
        self.at += 1;
        let mut values = self.statements();
        self.eat(")");
        if values.is_empty() {
            values.push(Field::unknown());
        }
        values
    }

    /// `.FullName` and its like leave the path what it is.
    fn members(&mut self) {
        let paths = [".fullname", ".path", ".tostring()", ".name"];
        let rest = self
            .rest()
            .get(..16)
            .unwrap_or(self.rest())
            .to_ascii_lowercase();
        if let Some(member) = paths.iter().find(|member| rest.starts_with(**member)) {
            self.at += member.len();
        }
    }

    fn single_quoted(&mut self) -> Values {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            if c != '\'' {
                text.push(c);
            } else if !self.eat("'") {
                break;
            } else {
                text.push('\'');
            }
        }
        vec![Field::literal(text)]
    }

    fn double_quoted(&mut self) -> Values {
        self.at += 1;
        let mut values = vec![Field::literal("")];
        let push = |values: &mut Values, c: char| values.iter_mut().for_each(|v| v.text.push(c));
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    if !self.eat("\"") {
                        break;
                    }
                    push(&mut values, '"');
                }
                '`' => {
                    self.at += 1;
                    if let Some(escaped) = self.peek() {
                        self.at += escaped.len_utf8();
                        push(&mut values, if escaped == 'n' { '\n' } else { escaped });
                    }
                }
                '$' => {
                    let piece = self.interpolated();
                    append(&mut values, &piece);
                }
                _ => {
                    self.at += c.len_utf8();
                    push(&mut values, c);
                }
            }
        }
        values
    }

    /// Within quotes a variable ends with its name.
    fn interpolated(&mut self) -> Values {
        if self.rest().starts_with("$(") {
            return self.dollar();
        }
        self.at += 1;
        let name = self.variable_name();
        if name.is_empty() {
            return vec![Field::literal("$")];
        }
        self.variable(&name)
    }

    /// `@'…'@`, `@"…"@` and `@(…)`.
    fn at_sign(&mut self) -> Option<Values> {
        let rest = self.rest();
        if rest.starts_with("@(") {
            self.at += 2;
            return Some(self.nested(Self::array));
        }
        let quote = rest
            .get(1..)?
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))?;
        let end = format!("\n{quote}@");
        let blanks = rest.bytes().skip(2);
        let blanks = blanks.take_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
        let body = rest.get(2 + blanks.count()..)?.strip_prefix('\n')?;
        let end_at = match body.starts_with(&end[1..]) {
            true => Some(0),
            false => body.find(&end),
        };
        let Some(len) = end_at else {
            self.at = self.text.len();
            return None;
        };
        let text = body.get(..len)?.trim_end_matches('\r').to_owned();
        let head = rest.len() - body.len();
        self.at += head + len + end.len() - usize::from(len == 0);
        let expands = quote == '"' && text.contains('$');
        Some(vec![match expands {
            true => Field::unknown(),
            false => Field::literal(text),
        }])
    }

    /// The items of `@(…)`, from behind the parenthesis to behind its end.
    fn array(&mut self) -> Values {
        let mut all = Values::new();
        while !matches!(self.peek(), None | Some(')')) {
            let before = self.at;
            all.extend(self.pipeline_stages());
            while matches!(self.peek(), Some(' ' | '\n' | '\r' | ';' | ',')) {
                self.at += 1;
            }
            if self.at == before {
                break;
            }
        }
        self.eat(")");
        all
    }

    fn dollar(&mut self) -> Values {
        self.at += 1;
        if self.peek() == Some('(') {
            return self.subexpression();
        }
        let name = self.variable_name();
        let values = self.variable(&name);
        self.members();
        if self.rest().starts_with(['.', '[']) {
            // Another member: not the value any more.
            let rest = self.rest();
            let len = rest.find(|c: char| !(is_name_byte(c as u8) || matches!(c, '.' | '[' | ']')));
            self.at += len.unwrap_or(rest.len());
            return vec![Field::unknown()];
        }
        values
    }

    /// `name`, `env:name`, `{name}`, `script:name`.
    pub(super) fn variable_name(&mut self) -> String {
        let braced = self.eat("{");
        let rest = self.rest();
        let mut len = rest
            .bytes()
            .take_while(|b| is_name_byte(*b) || *b == b':')
            .count();
        while rest.get(..len).is_some_and(|name| name.ends_with(':')) {
            len -= 1;
        }
        let name = rest.get(..len).unwrap_or("").to_ascii_lowercase();
        self.at += len;
        if braced {
            self.eat("}");
        }
        let scope = ["script:", "global:", "local:"];
        let bare = scope.iter().find_map(|scope| name.strip_prefix(scope));
        bare.map_or(name.clone(), str::to_owned)
    }

    fn variable(&self, name: &str) -> Values {
        if let Some(values) = self
            .variables
            .get(if name == "psitem" { "_" } else { name })
        {
            return values.clone();
        }
        let scene = self.shell.scene;
        let known = match name {
            "pwd" => self.shell.cwd.as_deref(),
            "home" | "env:home" | "env:userprofile" => scene.home,
            "env:claude_project_dir" => scene.project_dir,
            "env:claude_config_dir" => scene.config_dir,
            "env:feature_dir" => scene.feature_dir,
            "null" => Some("$null"),
            _ => None,
        };
        vec![known.map_or_else(Field::unknown, Field::literal)]
    }
}

fn ends_value(byte: u8) -> bool {
    let is_mark = matches!(
        byte,
        b';' | b'|' | b'&' | b')' | b'}' | b'{' | b',' | b'>' | b'<'
    );
    is_mark || byte.is_ascii_whitespace()
}

/// Paths with `/` alone, which is what the rest of the analyser reads.
pub(super) fn slashed(values: &[Field]) -> Values {
    let values = values.iter();
    values
        .map(|value| value.with_text(value.text.as_str().replace('\\', "/")))
        .collect()
}
