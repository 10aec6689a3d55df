//! Data that a command spells out and another decodes: base64 and hexadecimal.

use super::args::{Args, Syntax};
use super::eval::Shell;
use super::field::{Field, Output};
use super::readable;

/// Bytes of base64 text; line ends and padding are left out.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut n_bits) = (0_u32, 0);
    for c in text.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0xFFFF;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.extend(u8::try_from(held >> n_bits & 0xFF));
        }
    }
    Some(bytes)
}

/// What PowerShell's `-EncodedCommand` holds: base64 of UTF-16, low byte first.
pub(super) fn utf16_base64(text: &str) -> Option<String> {
    let bytes = base64(text)?;
    let (pairs, _) = bytes.as_chunks();
    let units: Vec<u16> = pairs.iter().copied().map(u16::from_le_bytes).collect();
    String::from_utf16(&units).ok()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|c| !c.is_whitespace());
    let digits: Option<Vec<u8>> = digits.map(|c| u8::try_from(c.to_digit(16)?).ok()).collect();
    let digits = digits?;
    let (pairs, _) = digits.as_chunks();
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

fn output(shell: &mut Shell<'_>, bytes: Option<Vec<u8>>) -> Option<Output> {
    let text = String::from_utf8(bytes?).ok()?;
    let text = readable(&text).into_owned();
    shell.spend(text.len()).then(|| Output::literal(text))
}

/// `base64 -d`.
pub(super) fn base64_command(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    // `-i` takes a file on macOS, and none elsewhere.
    let is_macos_input = |arg: &Field| matches!(arg.known(), Some("-i" | "-di" | "-id"));
    let plain: Vec<Field> = args
        .iter()
        .filter(|arg| !is_macos_input(arg))
        .cloned()
        .collect();
    let parsed = Args::parse(&plain, Syntax::of("wio", &[]));
    let decodes = parsed.has(&["d", "D", "decode"]) || plain.len() < args.len();
    shell.report_all(parsed.value(&["o"]), crate::base::target::Act::Write);
    let text = shell.input(parsed.operands.first()).filter(|_| decodes)?;
    output(shell, base64(&text))
}

/// `openssl base64 -d` and `openssl enc -d -base64`.
pub(super) fn openssl(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    let has = |name| args.iter().any(|arg| arg.known() == Some(name));
    let encoded = has("base64") || (has("enc") && (has("-base64") || has("-a")));
    let plain = !args
        .iter()
        .any(|arg| arg.text.starts_with("-aes") || arg.text.starts_with("-k"));
    let at = args.iter().position(|arg| arg.known() == Some("-in"));
    let file = at.and_then(|at| args.get(at + 1));
    if !encoded || !has("-d") || !plain {
        return None;
    }
    let text = shell.input(file)?;
    output(shell, base64(&text))
}

/// `xxd -r -p`: plain hexadecimal back to bytes. Returns what is not written.
pub(super) fn xxd(shell: &mut Shell<'_>, args: &[Field]) -> Option<Output> {
    // `-ps` is `-p`; its letters are no cluster.
    let spelled = |arg: &Field| match arg.known() {
        Some("-ps" | "-postscript" | "-plain") => Field::literal("-p"),
        _ => arg.clone(),
    };
    let args: Vec<Field> = args.iter().map(spelled).collect();
    let parsed = Args::parse(&args, Syntax::of("clos", &[]));
    if let Some(out) = parsed.operands.get(1) {
        shell.report(out, crate::base::target::Act::Write);
        return Output::nothing();
    }
    let plain = parsed.has(&["r"]) && parsed.has(&["p"]);
    let text = shell.input(parsed.operands.first()).filter(|_| plain)?;
    output(shell, hex(&text))
}
