//! Crash exploration on the scripted machine of the auditors' tests.

mod explorer;
mod nested;
mod power;
