//! One binary for all tests that need a process or a disk.

mod shell_differential;
