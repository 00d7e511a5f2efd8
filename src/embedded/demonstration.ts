import type { FaultRule } from '../../sandbox/faults/fault-rule.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import { type Loop, startLoop } from '../platform/base/loop.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { type RivalReport, startRival } from './rival.ts'
import type { RunningSandbox } from './running-services.ts'

const MINUTE_MS = 60_000
/** When the first two faults begin. The others follow each ten minutes. */
const FIRST_MS = [2 * MINUTE_MS, 3 * MINUTE_MS]
const EVERY_MS = 10 * MINUTE_MS
/** After it a fault has ended, and the script has asked once more. */
const REPORT_AFTER_MS = 90_000
const FAULT_SECONDS = 60

interface Counts {
  /** What farewatch has recorded. */
  readonly own: { readonly soldOut: number; readonly routesGone: number }
  /** What the script has reported. */
  readonly script: Readonly<Record<RivalReport['what'], number>>
  /** Webhooks that the receiver of the demo refused, and those of them that arrived later. */
  readonly refused: number
  readonly arrived: number
}

interface Fault {
  /** Null: the receiver of the webhooks is dead instead. */
  readonly rule: FaultRule | null
  readonly begins: string
  /** What farewatch and the script made of it. */
  readonly ended: (counts: Counts) => string
}

const FAULTS: readonly Fault[] = [
  {
    rule: { name: 'half-list', endpoint: 'routes', durationSeconds: FAULT_SECONDS },
    begins: 'the upstream sends half of the route list',
    ended: ({ own, script }) =>
      `farewatch held that list and recorded ${own.routesGone} removed ${own.routesGone === 1 ? 'route' : 'routes'}. A script that compares lists has reported ` +
      `${script['route gone']} routes as gone, and ${script['new route']} as new since`,
  },
  {
    rule: { name: 'all-unavailable', endpoint: 'verify', durationSeconds: FAULT_SECONDS },
    begins: 'the upstream answers "not available" for every flight',
    ended: ({ own, script }) =>
      `farewatch waited and recorded ${own.soldOut} sell-outs. A script that compares answers has reported ` +
      `${script['sold out']}, and ${script['open again']} flights as open again since`,
  },
  {
    rule: null,
    begins: 'the receiver of the webhooks answers 503',
    ended: ({ refused, arrived }) =>
      refused === 0
        ? 'no webhook was due meanwhile'
        : `it refused ${refused} webhooks, and ${arrived} of them have arrived since. A script that posts once has lost them`,
  },
]

/** The receiver of the demo, as far as it can be dead. */
export interface Mortal {
  die(ms: number): void
  /** The webhooks of its last death. */
  counts(): { readonly refused: number; readonly arrived: number }
}

export interface DemonstrationDeps {
  readonly db: Db
  readonly clock: Clock
  readonly sandbox: Pick<RunningSandbox, 'url'>
  readonly receiver: Mortal | undefined
  /** What the script reports. It is emptied when a fault begins. */
  readonly reports: RivalReport[]
  /** Says one line to the person at the terminal. */
  readonly say: (line: string) => void
}

interface Running {
  readonly fault: Fault
  readonly reportAt: number
  readonly since: Date
}

/**
 * Breaks the sandbox of a demonstration by itself, at minutes 2 and 3 and then each ten minutes, and says what farewatch did and
 * what a script would have reported by then.
 */
export function demonstrationLoop(deps: DemonstrationDeps): Loop {
  const { clock, sandbox, receiver, reports, say } = deps
  const startedMs = clock.now().getTime()
  let begun = 0
  let running: Running | undefined
  const dueAt = () => startedMs + (FIRST_MS[begun] ?? EVERY_MS * (begun - 1) + (FIRST_MS[1] ?? 0))

  const begin = async () => {
    const fault = FAULTS[begun % FAULTS.length]
    begun += 1
    if (fault === undefined || (fault.rule === null && receiver === undefined)) return
    const since = clock.now()
    running = { fault, since, reportAt: since.getTime() + REPORT_AFTER_MS }
    reports.splice(0)
    if (fault.rule === null) receiver?.die(FAULT_SECONDS * 1_000)
    else await addFault(sandbox, fault.rule)
    say(`${fault.begins}, for a minute`)
  }
  const report = async ({ fault, since }: Running) => {
    running = undefined
    const own = await countOwn(deps.db, since)
    const script = countScript(reports)
    const webhooks = receiver?.counts() ?? { refused: 0, arrived: 0 }
    say(fault.ended({ own, script, ...webhooks }))
  }
  return {
    name: 'demonstration',
    atMostMs: EVERY_MS,
    run: async () => {
      const now = () => clock.now().getTime()
      if (running !== undefined && now() >= running.reportAt) await report(running)
      if (running === undefined && now() >= dueAt()) await begin()
      return Math.max(0, (running?.reportAt ?? dueAt()) - now())
    },
  }
}

async function addFault({ url }: Pick<RunningSandbox, 'url'>, rule: FaultRule): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await fetch(`${url}/sandbox/faults`, { method: 'POST', headers, body: JSON.stringify(rule) })
}

function countScript(reports: readonly RivalReport[]): Counts['script'] {
  const count = (what: RivalReport['what']) => reports.filter((one) => one.what === what).length
  return {
    'sold out': count('sold out'),
    'open again': count('open again'),
    'route gone': count('route gone'),
    'new route': count('new route'),
  }
}

/** What farewatch has recorded since then. */
function countOwn(db: Db, since: Date): Promise<Counts['own']> {
  return selectOne(
    sql<Counts['own']>`
      select (select count(*) from farewatch.availability_changes
               where kind = 'became_unavailable' and recorded_at >= ${since}) as "soldOut",
             (select count(*) from farewatch.route_changes
               where kind = 'route_removed' and recorded_at >= ${since}) as "routesGone"
    `,
    db,
  )
}

/** Runs the demonstration and the script, until they are stopped. */
export function startDemonstration({
  sandbox,
  flights,
  log,
  ...deps
}: Omit<DemonstrationDeps, 'reports'> & {
  readonly sandbox: RunningSandbox
  readonly flights: readonly string[]
  readonly log: Logger
}): () => Promise<void> {
  const { clock } = deps
  const reports: RivalReport[] = []
  const onReport = (report: RivalReport) => void reports.push(report)
  const rival = startRival(sandbox, flights, { clock, log, onReport })
  const loop = startLoop(demonstrationLoop({ ...deps, sandbox, reports }), {
    clock,
    log,
    random: Math.random,
  })
  return async () => {
    await Promise.all([loop.stop(), rival.stop()])
  }
}
