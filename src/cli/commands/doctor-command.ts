import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { openApp, openQueue } from '../../app/app.ts'
import { examine, isWrong } from '../../app/doctor/doctor.ts'
import type { Finding, FindingLevel } from '../../app/doctor/doctor-finding.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { type CliContext, createContext } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { exitSoon, untilInterrupted } from '../interrupt.ts'
import { countOf, example, hangingIndent, printable } from '../text/text-format.ts'

/** The result does not wait longer for a store that hangs. */
const CLOSE_MS = 2_000

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('Check everything that farewatch needs, and say what to do about problems')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Checks the database, the queue, the workers and the state of the work. Changes
nothing and does not call the upstream. WRONG needs action; a warning is worth
knowing. Exits with 1 if something is wrong.
${example('doctor')}`,
    )
    .action(async ({ json }: { json?: boolean }) => {
      const context = createContext({ quiet: true })
      const findings = await untilInterrupted(examineAll(context), context.signal)
      const wrong = findings.filter(isWrong).length
      context.terminal.print(json, { at: systemClock.now(), wrong, findings }, () =>
        findingsText(findings, context.terminal.width),
      )
      process.exitCode = wrong === 0 ? EXIT.ok : EXIT.failed
    })
}

/** Unlike withApp it accepts a database that does not answer or lacks migrations. */
async function examineAll({ config, log }: CliContext): Promise<Finding[]> {
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: 'none' })
  // The findings report stores that do not answer, so the log need not.
  const silent = log.child({}, { level: 'silent' })
  const app = openApp({ config: embedded.config, log: silent, clock: systemClock, role: 'doctor' })
  const queue = openQueue(app)
  const close = async () => {
    await queue.close({ graceMs: CLOSE_MS })
    await app.close()
  }
  try {
    return await examine({ app, queue, given: config })
  } finally {
    await Promise.race([close(), delay(CLOSE_MS, undefined, { ref: false })])
    await embedded.release()
    exitSoon()
  }
}

const WORDS: Readonly<Record<FindingLevel, string>> = {
  ok: 'ok',
  warning: 'warning',
  wrong: 'WRONG',
}
const COLOURS: Readonly<Record<FindingLevel, string>> = {
  ok: '\x1b[32m',
  warning: '\x1b[33m',
  wrong: '\x1b[31m',
}
const RESET = '\x1b[0m'

/** One line a finding with its advice below, then the totals. */
function findingsText(findings: readonly Finding[], width: number): string {
  const lines = findings.map((finding) => findingText(finding, width))
  return [...lines, '', totalsText(findings)].join('\n')
}

function findingText({ about, level, says, todo }: Finding, width: number): string {
  const word = WORDS[level].padEnd(9)
  const label = `${word}${about.padEnd(14)}`
  const text = hangingIndent(label, printable(says), width)
  const isTerminal = process.stdout.isTTY === true
  const coloured = isTerminal ? `${COLOURS[level]}${word}${RESET}${text.slice(word.length)}` : text
  if (todo === null) return coloured
  return `${coloured}\n${hangingIndent(`${' '.repeat(label.length)}→ `, printable(todo), width)}`
}

function totalsText(findings: readonly Finding[]): string {
  const of = (level: FindingLevel) => findings.filter((finding) => finding.level === level).length
  const warnings = of('warning') === 0 ? '' : `, ${countOf(of('warning'), 'warning')}`
  return of('wrong') === 0 ? `nothing is wrong${warnings}` : `${of('wrong')} wrong${warnings}`
}
