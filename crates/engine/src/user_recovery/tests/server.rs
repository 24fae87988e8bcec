//! Commands that serve: compiled programs with the header that users have.

use super::*;
use crate::user_recovery::server::may_serve;

/// Compiles a program that notes in the file `loads` that it was loaded, serves, reads the first byte of the pool into
/// `first`, and runs `body`.
fn compiled(within: &Path, body: &str) -> PathBuf {
    let (source, program) = (within.join("program.c"), within.join("program"));
    let text = format!(
        "#include <counterpoint_program.h>\n#include <stdio.h>\n\
         int main(int count, char **given) {{\n\
             FILE *loads = fopen(\"{}\", \"a\");\n\
             fprintf(loads, \"%d\\n\", (int)getpid());\n\
             fclose(loads);\n\
             counterpoint_recovery_server();\n\
             FILE *pool = fopen(given[1], \"r+\");\n\
             int first = fgetc(pool);\n\
             {body}\n\
             return count > 9;\n\
         }}\n",
        within.join("loads").display(),
    );
    fs::write(&source, text).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/counterpoint/include");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-I", include, "-o"]);
    assert!(compiler.arg(&program).arg(&source).status().unwrap().success());
    program
}

/// The processes that were loaded.
fn loaded(within: &Path) -> Vec<String> {
    fs::read_to_string(within.join("loads")).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn alive(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

/// A recovery by `command`, one run at a time.
fn of(within: &Path, command: &str, timeout_seconds: u64) -> OwnRecovery {
    let folder = Some(within.to_owned());
    recovery(&trace(&[("pool", 4096)]), RecoverySettings { folder, timeout_seconds, jobs: 1, ..settings(command) })
        .unwrap()
}

/// The verdict on a pool that begins with `first`.
fn judged(recovery: &mut OwnRecovery, digest: u128, first: u8) -> Arc<Verdict> {
    judge(recovery, digest, &[(Line(0), [first; 64])]).unwrap()
}

#[test]
fn program_is_loaded_once_and_each_run_of_it_is_a_fork() {
    let within = tempfile::tempdir().unwrap();
    let body = "printf(\"it holds %d\\n\", first);
                fflush(stdout);
                rewind(pool);
                fputc(first + 1, pool);
                fclose(pool);
                if (first == 7) sleep(100);
                if (first == 8) abort();
                if (first == 9 && fork() == 0) { sleep(2); fopen(\"LATE\", \"w\"); }
                if (first != 6) return first;";
    let late = within.path().join("late");
    let program = compiled(within.path(), &body.replace("LATE", &late.to_string_lossy()));
    let mut recovery = of(within.path(), &format!("{} {{pool}}", program.display()), 1);
    let started = Instant::now();
    let outcomes = [0, 3, 3, 9, 7, 8, 6, 0].iter().enumerate().map(|(digest, &first)| {
        let verdict = judged(&mut recovery, digest as u128, first);
        assert_eq!(verdict.said, format!("it holds {first}"), "what an earlier run printed, or changed, is there");
        verdict.outcome
    });
    let exits = |code| Outcome::Exit(code);
    let expected = [exits(0), exits(3), exits(3), exits(9), Outcome::TimedOut, Outcome::Signal(6), exits(0), exits(0)];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
    let servers = loaded(within.path());
    assert!(servers.len() == 1 && alive(&servers[0]), "{servers:?}");
    drop(recovery);
    assert!(!alive(&servers[0]), "the server lives on");
    std::thread::sleep(Duration::from_millis(2500).saturating_sub(started.elapsed()));
    assert!(!late.exists(), "what a run started lives on");
    assert_eq!(fs::read_dir(within.path()).unwrap().count(), 3, "only the program, its source and the loads are left");
}

#[test]
fn program_within_a_longer_command_runs_as_ever() {
    let within = tempfile::tempdir().unwrap();
    let program = compiled(within.path(), "return first;");
    let command = format!("{} {{pool}} || test $? = 4", program.display());
    let mut recovery = of(within.path(), &command, 20);
    let outcomes = [0, 4, 5].iter().map(|&first| judged(&mut recovery, u128::from(first), first).outcome);
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Exit(0), Outcome::Exit(0), Outcome::Exit(1)]);
    assert_eq!(loaded(within.path()).len(), 3);
}

#[test]
fn command_that_is_told_the_event_does_not_serve() {
    let within = tempfile::tempdir().unwrap();
    let program = compiled(within.path(), "return first + atoi(given[2]);");
    let mut recovery = of(within.path(), &format!("{} {{pool}} {{event}}", program.display()), 20);
    for event in [3, 5] {
        recovery.begin(u128::from(event), at(event), std::iter::empty()).unwrap();
        let verdict = recovery.verdict(u128::from(event), true, &NEVER).unwrap().unwrap();
        assert_eq!(verdict.outcome, Outcome::Exit(event as i32));
    }
    assert_eq!(loaded(within.path()).len(), 2);
}

#[test]
fn server_that_ends_is_an_error_and_one_that_is_interrupted_is_gone() {
    let within = tempfile::tempdir().unwrap();
    let program = compiled(
        within.path(),
        "if (first == 1) { puts(\"shot\"); fflush(stdout); kill(getppid(), SIGKILL); sleep(1); }",
    );
    let mut recovery = of(within.path(), &format!("{} {{pool}}", program.display()), 20);
    assert!(judged(&mut recovery, 1, 0).recovers());
    let error = judge(&mut recovery, 2, &[(Line(0), [1; 64])]).unwrap_err().to_string();
    assert!(error.contains("its server (counterpoint_recovery_server) has ended and said \"shot\""), "{error}");
    assert!(judged(&mut recovery, 3, 0).recovers(), "another one is started");
    assert_eq!(loaded(within.path()).len(), 2);
}

#[test]
fn only_one_program_with_plain_words_may_serve() {
    for command in ["./check {pool}", "/a/b/check -v '{pool}; $x' {marks}", "'/a b/check' \"{pool}\" a=b c\\;d"] {
        assert!(may_serve(command), "{command}");
    }
    for command in [
        "check {pool}",
        "./check {pool}; true",
        "./check {pool} && true",
        "./check {pool} | cat",
        "./check $(cat {marks}) {pool}",
        "./check \"$A\" {pool}",
        "./check {folder}/*",
        "./check {pool} > {folder}/log",
        "A=/b ./check {pool}",
        "(./check {pool})",
        "./check '{pool}",
        "./check {pool}\n./other {pool}",
    ] {
        assert!(!may_serve(command), "{command}");
    }
}
