import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { type App, openApp, openQueue } from '../../app/app.ts'
import { examine, isWrong } from '../../app/doctor/doctor.ts'
import type { Finding, FindingLevel } from '../../app/doctor/doctor-finding.ts'
import { systemClock } from '../../base/clock.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { type CliContext, createContext } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { endSoon, interruptSignal, untilInterrupted } from '../interrupt.ts'
import { besideName, printable, screenWidth } from '../text/text-format.ts'

/** A store that does not answer must not keep the doctor from its answer. */
const CLOSE_MS = 2_000

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('look at everything that has to be well, and say what to do where it is not')
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      '\nIt changes nothing and asks the upstream nothing. 1 is its exit code where something is wrong.' +
        '\n\nExample:\n  bin/farewatch doctor',
    )
    .action(async (options: { json?: boolean }) => {
      process.exitCode = await runDoctor(options)
    })
}

async function runDoctor({ json }: { json?: boolean }): Promise<number> {
  const context = createContext({ quiet: true })
  const findings = await untilInterrupted(findAll(context), interruptSignal())
  const wrong = findings.filter(isWrong).length
  if (json === true) {
    context.terminal.out(JSON.stringify({ at: systemClock.now(), wrong, findings }))
  } else {
    const { stdout } = process
    const screen = { width: screenWidth(stdout), colours: stdout.isTTY === true }
    context.terminal.out(doctorText(findings, screen))
  }
  return wrong === 0 ? EXIT.ok : EXIT.failed
}

/** Unlike every other command it needs neither a database that answers nor a schema that is up to date. */
async function findAll({ config, log }: CliContext): Promise<Finding[]> {
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: false })
  // What the log would say of stores that are away, the findings say better.
  const silent = log.child({}, { level: 'silent' })
  const app = openApp({ config: embedded.config, log: silent, clock: systemClock, role: 'doctor' })
  const queue = openQueue(app)
  try {
    return await examine({ app, queue, given: config })
  } finally {
    await Promise.race([closeAll(app, queue), delay(CLOSE_MS, undefined, { ref: false })])
    await embedded.release()
    endSoon()
  }
}

async function closeAll(app: App, queue: ReturnType<typeof openQueue>): Promise<void> {
  await queue.close({ graceMs: CLOSE_MS })
  await app.close()
}

export interface Screen {
  /** In characters; infinite in a pipe. */
  readonly width: number
  readonly colours: boolean
}

const WORDS: Readonly<Record<FindingLevel, string>> = { ok: 'ok', look: 'look', wrong: 'WRONG' }
const COLOURS: Readonly<Record<FindingLevel, string>> = {
  ok: '\x1b[32m',
  look: '\x1b[33m',
  wrong: '\x1b[31m',
}
const RESET = '\x1b[0m'

/** One line a finding, what to do under it, and the sum of all at the end. */
export function doctorText(findings: readonly Finding[], screen: Screen): string {
  return [...findings.map((finding) => findingText(finding, screen)), '', sumText(findings)].join(
    '\n',
  )
}

function findingText({ about, level, says, todo }: Finding, { width, colours }: Screen): string {
  const word = WORDS[level].padEnd(7)
  const name = `${word}${about.padEnd(14)}`
  const text = besideName(name, printable(says), width)
  const coloured = colours ? `${COLOURS[level]}${word}${RESET}${text.slice(word.length)}` : text
  if (todo === null) return coloured
  return `${coloured}\n${besideName(`${' '.repeat(name.length)}→ `, printable(todo), width)}`
}

function sumText(findings: readonly Finding[]): string {
  const of = (level: FindingLevel) => findings.filter((finding) => finding.level === level).length
  const looks = of('look') === 0 ? '' : `, ${of('look')} to look at`
  return of('wrong') === 0 ? `nothing is wrong${looks}` : `${of('wrong')} wrong${looks}`
}
