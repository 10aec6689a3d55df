//! What a hook cannot go below: a process that reads its stdin to the end.

fn main() -> std::io::Result<()> {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map(drop)
}
