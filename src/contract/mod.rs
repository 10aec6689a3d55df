pub mod denial;
pub mod edition;
pub mod glob;
pub mod slug;
pub mod suggest;
pub mod table;
