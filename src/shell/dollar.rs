//! What begins with `$`: parameters, substitutions, arithmetic.

use std::borrow::Cow;

use super::byte::is_name_byte;
use super::lex::{Cursor, End, Op, Param, Part, Quote, Reach, Stop};
use super::syntax::{Few, List};

impl<'a> Cursor<'a> {
    pub(super) fn dollar(&mut self, parts: &mut Few<Part<'a>>, quote: Quote) {
        self.at += 1;
        match self.peek() {
            Some(b'\'') if quote == Quote::Bare => {
                self.at += 1;
                let text = self.ansi_c();
                parts.push(Part::Text(Cow::Owned(text)));
            }
            Some(b'"') if quote == Quote::Bare => {
                self.special(b'"', parts);
            }
            Some(b'(') => {
                if self.peek_at(1) == Some(b'(')
                    && let Some(arith) = self.arithmetic()
                {
                    parts.push(Part::Arith(Box::new(arith)));
                    return;
                }
                self.at += 1;
                let list = self.substitution();
                parts.push(Part::Command(list, quote));
            }
            Some(b'{') => {
                self.at += 1;
                match self.nested(Self::braced) {
                    Some(Param {
                        name,
                        index: None,
                        op: Op::Plain,
                    }) => parts.push(Part::Value(name, quote)),
                    Some(mut param) => {
                        if quote == Quote::Double {
                            param.op.quote_tilde();
                        }
                        parts.push(Part::Param(Box::new(param), quote));
                    }
                    None => {}
                }
            }
            Some(byte) if is_name_byte(byte) || b"@*#?-$!".contains(&byte) => {
                let name = self.param_name();
                parts.push(Part::Value(name, quote));
            }
            _ => parts.push(Part::Text(Cow::Borrowed("$"))),
        }
    }

    /// A name, or one digit or special character.
    fn param_name(&mut self) -> &'a str {
        let rest = self.rest();
        let len = match rest.bytes().next() {
            Some(b) if b.is_ascii_digit() || !is_name_byte(b) => 1,
            _ => rest.bytes().take_while(|b| is_name_byte(*b)).count(),
        };
        self.at += len;
        rest.get(..len).unwrap_or("")
    }

    /// The list of `$(…)`, `<(…)`, from behind the parenthesis to behind its end.
    pub(super) fn substitution(&mut self) -> List<'a> {
        let pending = std::mem::take(&mut self.pending);
        let list = self.nested(Self::list).unwrap_or_default();
        let left = std::mem::replace(&mut self.pending, pending);
        self.pending.extend(left);
        if !self.eat(")") {
            self.stop();
        }
        list
    }

    /// `((…))` with the cursor on its first parenthesis; `None`, and nothing
    /// consumed, when it is a subshell within a subshell instead.
    pub(super) fn arithmetic(&mut self) -> Option<Few<Part<'a>>> {
        let inner = self.text.get(self.at + 2..)?;
        let len = arithmetic_len(inner)?;
        let mut parts = Few::default();
        self.at += 2;
        let end = self.at + len;
        let whole = self.text;
        self.text = whole.get(..end)?;
        self.nested(|cursor| cursor.double_quoted(&mut parts, None));
        self.text = whole;
        self.at = end + 2;
        Some(parts)
    }

    fn braced(&mut self) -> Param<'a> {
        let prefix = self.peek().filter(|b| matches!(b, b'!' | b'#'));
        let named = |b: u8| is_name_byte(b) || b == b'@';
        let prefix = prefix.filter(|_| self.peek_at(1).is_some_and(named));
        if prefix.is_some() {
            self.at += 1;
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let name = if digits > 0 {
            let name = &self.rest()[..digits];
            self.at += digits;
            name
        } else {
            self.param_name()
        };
        let index = self.eat("[").then(|| self.until(b']'));
        let op = self.op();
        if !self.eat("}") {
            self.word(Stop::Brace);
            if !self.eat("}") {
                self.stop();
            }
        }
        let op = match (prefix, op) {
            (None, op) => op,
            (Some(b'#'), Op::Plain) => Op::Length,
            (Some(_), Op::Plain) if index.is_none() => Op::Indirect,
            (Some(b'!'), Op::Plain) if matches!(index, Some("@" | "*")) => Op::Keys,
            _ => Op::Other,
        };
        Param { name, index, op }
    }

    fn op(&mut self) -> Op<'a> {
        let (end, reach) = match self.peek() {
            Some(b'}') => return Op::Plain,
            Some(b'#') => (End::Front, b'#'),
            Some(b'%') => (End::Back, b'%'),
            Some(b'/') => return self.replace(),
            Some(b',') => return self.case_op(b',', [Op::LowerFirst, Op::Lower]),
            Some(b'^') => return self.case_op(b'^', [Op::UpperFirst, Op::Upper]),
            Some(b':' | b'-' | b'=' | b'+' | b'?') => return self.default_op(),
            _ => return Op::Other,
        };
        self.at += 1;
        let reach = self.reach(reach);
        let pattern = self.word(Stop::Brace);
        Op::Cut {
            end,
            reach,
            pattern,
        }
    }

    /// A doubled mark reaches as far as it can.
    fn reach(&mut self, mark: u8) -> Reach {
        if self.peek() == Some(mark) {
            self.at += 1;
            Reach::All
        } else {
            Reach::One
        }
    }

    fn case_op(&mut self, mark: u8, [one, all]: [Op<'a>; 2]) -> Op<'a> {
        self.at += 1;
        match self.reach(mark) {
            Reach::All => all,
            Reach::One => one,
        }
    }

    fn default_op(&mut self) -> Op<'a> {
        let colon = self.eat(":");
        let mark = self.peek();
        if matches!(mark, Some(b'-' | b'=' | b'+' | b'?')) {
            self.at += 1;
        }
        let word = self.word(Stop::Brace);
        match mark {
            Some(b'-') => Op::Default(word),
            Some(b'=') => Op::Assign(word),
            Some(b'+') => Op::Alternative(word),
            Some(b'?') => Op::Require,
            _ if colon => Op::Slice(word),
            _ => Op::Other,
        }
    }

    fn replace(&mut self) -> Op<'a> {
        self.at += 1;
        let reach = self.reach(b'/');
        let pattern = self.word(Stop::Slash);
        let with = self.eat("/").then(|| self.word(Stop::Brace));
        Op::Replace {
            reach,
            pattern,
            with,
        }
    }
}

impl Op<'_> {
    /// In double quotes a tilde that begins the word of a default is only a character.
    fn quote_tilde(&mut self) {
        let (Self::Default(word) | Self::Assign(word) | Self::Alternative(word)) = self else {
            return;
        };
        let first = match &mut word.parts {
            Few::One([first]) => Some(first),
            Few::Any(parts) => parts.first_mut(),
        };
        if let Some(first) = first
            && let Part::Bare(text) = *first
        {
            *first = Part::Text(Cow::Borrowed(text));
        }
    }
}

/// The length of `…` in `…))`, when the parentheses balance that way.
fn arithmetic_len(inner: &str) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'(' => open += 1,
            b')' if open > 0 => open -= 1,
            b')' => return (bytes.get(at + 1) == Some(&b')')).then_some(at),
            b'\\' => at += 1,
            b'\'' | b'"' => {
                at += 1;
                at += bytes.get(at..)?.iter().position(|b| b == byte)?;
            }
            _ => {}
        }
        at += 1;
    }
    None
}
