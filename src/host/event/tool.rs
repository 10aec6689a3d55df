//! The tools of a client, and the words in the names of MCP servers' tools.

use crate::base::text::is_in;

/// The tools whose calls can be judged before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool<'e> {
    Write,
    Edit,
    MultiEdit,
    NotebookEdit,
    Shell(Shell),
    Agent,
    /// `SubagentHandback`: in auto mode an agent's report goes to its caller by it.
    Handback,
    /// The last part of an MCP tool's name, such as `write_file`.
    Mcp(&'e str),
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    PowerShell,
}

impl<'e> Tool<'e> {
    /// Whether the tool runs commands: a shell, or one of an MCP server that says so in its name.
    pub fn runs_commands(self) -> bool {
        match self {
            Self::Shell(_) => true,
            Self::Mcp(name) => runs_commands(name),
            _ => false,
        }
    }

    /// Whether the client itself writes the one file that the call names.
    pub fn is_file_tool(self) -> bool {
        matches!(
            self,
            Self::Write | Self::Edit | Self::MultiEdit | Self::NotebookEdit
        )
    }

    pub fn parse(name: &'e str) -> Self {
        match name {
            "Write" => Self::Write,
            "Edit" => Self::Edit,
            "MultiEdit" => Self::MultiEdit,
            "NotebookEdit" => Self::NotebookEdit,
            "Bash" | "Monitor" => Self::Shell(Shell::Bash),
            "PowerShell" => Self::Shell(Shell::PowerShell),
            "Agent" | "Task" => Self::Agent,
            "SubagentHandback" => Self::Handback,
            _ => match name.strip_prefix("mcp__") {
                Some(rest) => Self::Mcp(rest.rsplit("__").next().unwrap_or(rest)),
                None => Self::Other,
            },
        }
    }
}

/// Whether a tool says in its name that it runs commands.
fn runs_commands(name: &str) -> bool {
    const RUNS: &str =
        "bash command commands exec execute powershell process pwsh run script shell terminal";
    words(name).iter().any(|word| is_in(RUNS, word))
}

/// The lower-case words of a name in `snake_case`, `kebab-case` or `camelCase`.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && after_lower) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(c.to_ascii_lowercase());
        }
        after_lower = c.is_ascii_lowercase();
    }
    words
}
