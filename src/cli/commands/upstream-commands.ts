import type { Command } from 'commander'
import { assertNotPaused } from '../../upstream/breaker/acquire-permit.ts'
import { takeSlot } from '../../upstream/budget/reserve-slots.ts'
import { type ProbeReport, probeUpstream } from '../../upstream/probe/probe-upstream.ts'
import { createContext, withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { probeText } from '../text/probe-text.ts'
import { screenWidth } from '../text/wrap-text.ts'

interface ProbeFlags {
  readonly flight?: string
  readonly negative?: boolean
  readonly json?: boolean
}

export function addUpstreamCommands(program: Command): void {
  program
    .command('upstream')
    .description('the upstream itself')
    .command('probe')
    .description('call each endpoint once, within the budget, and tell what its interface does not')
    .option('--flight <id>', 'a flight to verify; without one verify is not called')
    .option('--negative', 'also ask without a token, against a rule and for a flight that is none')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  farewatch upstream probe --flight 12345')
    .action(async (flags: ProbeFlags) => {
      process.exitCode = await probe(flags)
    })
}

async function probe({ flight, negative = false, json }: ProbeFlags): Promise<number> {
  const context = createContext({ quiet: true })
  const signal = interruptSignal()
  return withApp(context, { role: 'probe', sandbox: true }, async (app) => {
    const { config, clock, database } = app
    const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
    const report = await probeUpstream({
      baseUrl: config.UPSTREAM_BASE_URL,
      accessToken: config.UPSTREAM_ACCESS_TOKEN,
      scrub: context.scrub,
      clock,
      beforeCall: async (waiting) => {
        await assertNotPaused(app.breaker, 'probe')
        await takeSlot(database.db, { requestsPerSecond, lane: true, clock, signal: waiting })
      },
      flightId: flight ?? null,
      negative,
      signal,
    })
    context.terminal.out(
      json === true ? JSON.stringify(report) : probeText(report, screenWidth(process.stdout)),
    )
    return exitOf(report)
  })
}

/** What a negative call is answered is a finding, whatever it is. */
function exitOf({ calls }: ProbeReport): number {
  const failed = calls.some(({ documented, outcome }) => documented && outcome !== 'ok')
  return failed ? EXIT.failed : EXIT.ok
}
