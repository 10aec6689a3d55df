//! The contracts of public frameworks that ship inside the program.

use serde::Serialize;

/// A framework whose contract ships with the program.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Framework {
    pub name: &'static str,
    pub about: &'static str,
    /// The release whose texts the contract was taken from.
    pub release: &'static str,
    /// The names that its contract files have in `.claude/statewarden.d/`, with their texts; the
    /// contract itself is the first.
    #[serde(skip)]
    pub files: &'static [(&'static str, &'static str)],
}

/// By name.
pub(super) const SHELF: [Framework; 5] = [
    Framework {
        name: "bmad-method",
        about: "BMad Method: `_bmad-output/` and `_bmad/`",
        release: "6.11",
        files: &[
            (
                "bmad-method.yaml",
                include_str!("../../../contracts/bmad-method/statewarden.yaml"),
            ),
            (
                "bmad-sprint-status.schema.json",
                include_str!("../../../contracts/bmad-method/bmad-sprint-status.schema.json"),
            ),
        ],
    },
    Framework {
        name: "gsd",
        about: "GSD (get-shit-done): `.planning/`",
        release: "1.50",
        files: &[
            (
                "gsd.yaml",
                include_str!("../../../contracts/gsd/statewarden.yaml"),
            ),
            (
                "gsd-verification.schema.json",
                include_str!("../../../contracts/gsd/gsd-verification.schema.json"),
            ),
        ],
    },
    Framework {
        name: "spec-kit",
        about: "spec-kit: `specs/NNN-name/` and `.specify/`",
        release: "1.0.1",
        files: &[
            (
                "spec-kit.yaml",
                include_str!("../../../contracts/spec-kit/statewarden.yaml"),
            ),
            (
                "spec-kit-feature.schema.json",
                include_str!("../../../contracts/spec-kit/spec-kit-feature.schema.json"),
            ),
        ],
    },
    Framework {
        name: "superpowers",
        about: "superpowers: the workspaces of subagent-driven-development",
        release: "6.2",
        files: &[(
            "superpowers.yaml",
            include_str!("../../../contracts/superpowers/statewarden.yaml"),
        )],
    },
    Framework {
        name: "task-master",
        about: "Task Master: `.taskmaster/`",
        release: "0.43",
        files: &[(
            "task-master.yaml",
            include_str!("../../../contracts/task-master/statewarden.yaml"),
        )],
    },
];

pub(super) fn get(name: &str) -> Option<Framework> {
    SHELF.into_iter().find(|framework| framework.name == name)
}
