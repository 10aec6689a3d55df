pub fn holds_our_entries(text: &str) -> bool {
    text.contains("statewarden")
}
