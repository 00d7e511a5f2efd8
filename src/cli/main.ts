import { interruptOnClosedPipe } from './exit-codes.ts'
import { runCommandLine } from './program.ts'

interruptOnClosedPipe()
process.exitCode = await runCommandLine(process.argv)
