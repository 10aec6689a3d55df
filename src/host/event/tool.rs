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
    /// Runs the commands in the text of a skill or of a command file.
    Skill,
    Agent,
    /// `SubagentHandback`: in auto mode an agent's report goes to its caller by it.
    Handback,
    Mcp(McpTool<'e>),
    Other,
}

/// A tool of an MCP server: `mcp__SERVER__NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpTool<'e> {
    pub server: &'e str,
    /// The last part, such as `write_file`.
    pub name: &'e str,
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
            Self::Mcp(tool) => tool.runs_commands(),
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
            "Skill" => Self::Skill,
            "Agent" | "Task" => Self::Agent,
            "SubagentHandback" => Self::Handback,
            _ => match name.strip_prefix("mcp__") {
                Some(rest) => {
                    let (server, name) = rest.rsplit_once("__").unwrap_or(("", rest));
                    Self::Mcp(McpTool { server, name })
                }
                None => Self::Other,
            },
        }
    }
}

impl McpTool<'_> {
    /// Whether it says in its name that it runs commands of a shell: by one of a shell's words,
    /// and by none of another language's.
    fn runs_commands(self) -> bool {
        const SHELLS: &str =
            "bash cmd command commands exec execute powershell process pwsh shell terminal";
        const OTHERS: &str = "browser cell code evaluate menu query script sql";
        const LANGUAGES: &str = "db javascript jupyter mongo python redis sql";
        let tool = words(self.name);
        let has = |names: &str| tool.iter().any(|word| is_in(names, word));
        if !has(SHELLS) || has(OTHERS) {
            return false;
        }
        let server = words(self.server);
        LANGUAGES.split(' ').all(|language| {
            let mut all = tool.iter().chain(&server);
            !all.any(|word| word.starts_with(language) || word.ends_with(language))
        })
    }
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
