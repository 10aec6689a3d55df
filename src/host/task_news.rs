//! The client's news of what ran in the background, which it sends as a prompt.

use crate::base::path;
use crate::host::event::Event;

/// What one of them says, by its elements.
#[derive(Clone, Copy, Debug)]
pub struct TaskNews<'e> {
    text: &'e str,
}

impl<'e> TaskNews<'e> {
    /// The news in a prompt; the words of a user hold none.
    pub fn all(event: &'e Event<'_>) -> impl Iterator<Item = Self> {
        let parts = event.prompt.as_str().split("<task-notification>").skip(1);
        parts.map(|text| Self { text })
    }

    /// The client's id for the task; of an agent it is the agent's.
    pub fn task(self) -> Option<&'e str> {
        self.element("task-id")
    }

    pub fn status(self) -> Option<&'e str> {
        self.element("status")
    }

    pub fn summary(self) -> Option<&'e str> {
        self.element("summary")
    }

    /// The client's file with what the task printed.
    pub fn output_file(self) -> Option<&'e str> {
        let name = format!("/tasks/{}.output", self.task().unwrap_or_default());
        let file = self.element("output-file")?;
        path::slashed(file).ends_with(&name).then_some(file)
    }

    /// The exit status of a command that came to its end.
    pub fn exit_status(self) -> Option<i32> {
        let (_, code) = self.summary()?.rsplit_once("exit code ")?;
        let digits = code.trim_end_matches(|c: char| !c.is_ascii_digit());
        digits.parse().ok()
    }

    fn element(self, name: &str) -> Option<&'e str> {
        let (_, rest) = self.text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    }
}
