//! Session state in `.claude/.docs/<session-id>/state.json`.

pub mod check;
pub mod create;
mod schema;
pub mod state;
pub mod transition;
