import { EXIT, exitSoon, interruptOnClosedPipe } from './exit-codes.ts'
import { runCommandLine } from './program.ts'

interruptOnClosedPipe()
process.exitCode = await runCommandLine(process.argv)
// A statement that waits for a lock would keep a failed command running.
if (process.exitCode !== EXIT.ok) exitSoon()
