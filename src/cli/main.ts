import { interruptOnClosedPipe } from './interrupt.ts'
import { runCommandLine } from './program.ts'

interruptOnClosedPipe()
process.exitCode = await runCommandLine(process.argv)
