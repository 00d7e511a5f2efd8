import { findWatchedFlight } from '../../fares/check.ts'
import { assertNotPaused } from '../../upstream/attempt.ts'
import { takeSlot } from '../../upstream/budget/take-slot.ts'
import { type ProbeReport, probeUpstream } from '../../upstream/probe/probe-upstream.ts'
import { withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT } from '../exit-codes.ts'
import { hangingIndent, printable, recordText } from '../text/text-format.ts'

interface ProbeFlags extends ProgramOptions {
  readonly flight?: string
  readonly negative?: boolean
}

export function probe(options: ProbeFlags): Promise<void> {
  const { flight, negative = false } = options
  return withApp(
    { role: 'probe', sandbox: true, options },
    async ({ config, clock, database, breaker }, context) => {
      const { terminal, scrub, signal } = context
      const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
      const report = await probeUpstream({
        baseUrl: config.UPSTREAM_BASE_URL,
        accessToken: config.UPSTREAM_ACCESS_TOKEN,
        scrub,
        clock,
        beforeCall: async (waiting) => {
          await assertNotPaused(breaker, 'probe')
          terminal.progress('waits for a slot of the budget')
          await takeSlot(database.db, { requestsPerSecond, lane: true, clock, signal: waiting })
          terminal.progress('')
        },
        flightId: flight ?? (await findWatchedFlight(database.db)),
        negative,
        signal,
      })
      terminal.print(report, () => probeText(report, terminal.width))
      return exitOf(report)
    },
  )
}

/** A negative call cannot fail: its answer is a finding. */
function exitOf({ calls }: ProbeReport): number {
  const failed = calls.some(({ documented, outcome }) => documented && outcome !== 'ok')
  return failed ? EXIT.failed : EXIT.ok
}

/** The calls, each with its findings; the calls that were not made. */
export function probeText({ calls, skipped }: ProbeReport, width: number): string {
  const hints = skipped.map(({ call, hint }) =>
    hangingIndent('', printable(`not called: ${call}; ${hint}`), width),
  )
  return [...calls.map((call) => recordText(call, width)), ...hints].join('\n\n')
}
