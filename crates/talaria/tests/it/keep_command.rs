//! The program itself as the keeper of a command.

use std::time::Duration;

use talaria_guard::place::Place;
use talaria_tools::keeper::{
    CommandEnding, CommandInput, CommandRoom, CommandState, KeeperProgram, KeptCommandSpec, SpoolLimits,
};

#[tokio::test]
async fn the_program_keeps_a_command_and_says_when_it_is_used_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_talaria");
    let keeper = KeeperProgram { program: program.into(), arguments: vec!["keep-command".into()] };
    let room = CommandRoom::new(&folder.path().join("commands"), keeper);
    let argv = ["/bin/sh", "-c", "echo kept; exit 3"].map(str::to_owned).to_vec();
    let (cwd, input, place) = ("/".to_owned(), CommandInput::Nothing, Place::Inside);
    let id =
        room.prepare(&KeptCommandSpec { argv, cwd, input, place, limits: SpoolLimits::default() }).unwrap();
    let command = room.start(&id, &[]).unwrap();
    let CommandState::Ended(end) = command.wait(Duration::from_secs(60)).await.unwrap() else {
        panic!("it did not end: {:?}", command.state())
    };
    assert_eq!(end.ending, CommandEnding::Exited(3));
    assert_eq!(command.output(0).read(100).unwrap().bytes, b"kept\n");
    let by_hand =
        std::process::Command::new(program).arg("keep-command").arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&by_hand.stderr);
    assert!(!by_hand.status.success() && said.contains("only Talaria itself runs this command"), "{said}");
}
