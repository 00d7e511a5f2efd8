import http from 'node:http'
import { listenLocally } from '../support/local-server.ts'
import { flight, price, segment } from '../upstream/verify-fixtures.ts'
import { isReplicated, lieAt, type Phase, phaseAt, type TruthPlan } from './truth-plan.ts'

export interface TruthUpstream {
  readonly url: string
  readonly counts: {
    answers: number
    faulty: Record<string, number>
    lying: number
    /** Answers of the older replica that are no longer true. */
    outdated: number
  }
  close(): Promise<void>
}

export interface UpstreamArgs {
  readonly plan: () => TruthPlan
  readonly faultShare: number
  readonly random: () => number
}

/** Faults that lie about a flight come at most once in this time after the last lie, so that no second answer confirms one. */
const ALONE_MS = 60_000

type Entries = Record<string, object>

interface Asked {
  readonly ids: readonly string[]
  readonly phases: readonly Phase[]
  readonly random: () => number
}

const DEPARTS_ON = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)

function entryOf(id: string, { amount, time }: Phase, parts: Record<string, unknown> = {}): object {
  if (amount === null) return { available: false }
  const dates = {
    departure: `${DEPARTS_ON} ${time}`,
    arrival: `${DEPARTS_ON} ${time.replace('08:', '09:')}`,
  }
  const duration = { human: '1h', seconds: 3_600 }
  const leg = segment({ dates, duration })
  const { from, to } = leg
  return {
    available: true,
    flight: {
      ...flight({ from, to, legs: [leg], dates, duration, id: Number(id) }),
      price: priceOf(amount),
      ...parts,
    },
  }
}

function priceOf(amount: string, more: Record<string, unknown> = {}): object {
  return price({
    total: amount,
    nonResidents: { adult: Number(amount), child: null, infant: null },
    ...more,
  })
}

function entriesOf({ ids, phases }: Pick<Asked, 'ids' | 'phases'>): Entries {
  return Object.fromEntries(
    phases.map((phase, leg) => [ids[leg] ?? '', entryOf(ids[leg] ?? '', phase)]),
  )
}

function turned(phase: Phase): Phase {
  return { ...phase, amount: phase.amount === null ? phase.last : null }
}

function withParts(
  { ids, phases }: Asked,
  parts: (id: string, amount: string) => Record<string, unknown>,
) {
  return Object.fromEntries(
    phases.map((phase, leg) => {
      const id = ids[leg] ?? ''
      return [id, entryOf(id, phase, parts(id, phase.amount ?? '99.90'))]
    }),
  )
}

/** Answers that can be read and say what is not true. */
const LIES: Readonly<Record<string, (asked: Asked) => Entries>> = {
  other_availability: ({ ids, phases }) => entriesOf({ ids, phases: phases.map(turned) }),
  other_currency: (asked) =>
    withParts(asked, (_, amount) => ({ price: priceOf(amount, { currency: 'USD' }) })),
  nine_times: (asked) =>
    withParts(asked, (_, amount) => ({ price: priceOf((9 * Number(amount)).toFixed(2)) })),
  other_airline: (asked) => withParts(asked, () => ({ airline: { id: 99, name: 'Another' } })),
  odd_total: (asked) =>
    withParts(asked, (_, amount) => ({
      price: priceOf(amount, { total: (Number(amount) * (1.3 + asked.random())).toFixed(2) }),
    })),
}

/** Answers to another question, which are unknown however often they come. */
const OTHERS: Readonly<Record<string, (asked: Asked) => Entries>> = {
  wrong_id: (asked) => withParts(asked, () => ({ id: 9 })),
  other_passengers: (asked) =>
    withParts(asked, (_, amount) => ({
      price: priceOf((Number(amount) * 1.2).toFixed(2), {
        nonResidents: { adult: Number(amount), child: null, infant: Number(amount) * 0.2 },
      }),
    })),
  swapped_legs: (asked) => {
    const swapped = [...asked.ids].reverse()
    return withParts(asked, (id) => ({
      id: Number(asked.ids.length === 1 ? 9 : swapped[asked.ids.indexOf(id)]),
    }))
  },
}

function answerJson(response: http.ServerResponse, body: object, headers = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

const BROKEN: Readonly<Record<string, (response: http.ServerResponse, asked: Asked) => void>> = {
  hang: () => undefined,
  html: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<html>maintenance</html>')
  },
  status_500: (response) => {
    response.writeHead(500)
    response.end()
  },
  reset: (response) => void response.socket?.destroy(),
  old: (response, { ids, phases }) => {
    const yesterday = new Date(Date.now() - 86_400_000).toUTCString()
    const entries = entriesOf({ ids, phases: phases.map(turned) })
    answerJson(response, entries, { age: '86400', date: yesterday })
  },
}

const NAMES = [...Object.keys(LIES), ...Object.keys(OTHERS), ...Object.keys(BROKEN)]
/** An answer that never comes costs ten seconds: one fault in ten of its share. */
const HANG_SHARE = 0.1

/** An upstream of which the truth is planned. A share of its answers is faulty, and masses of answers lie for a while. */
export async function startTruthUpstream(args: UpstreamArgs): Promise<TruthUpstream> {
  const { random } = args
  const counts: TruthUpstream['counts'] = { answers: 0, faulty: {}, lying: 0, outdated: 0 }
  const liedAt = new Map<string, number>()

  function faultOf(fare: string, nowMs: number): string | undefined {
    if (random() >= args.faultShare) return undefined
    const name = NAMES[Math.floor(random() * NAMES.length)] ?? 'html'
    if (name === 'hang' && random() > HANG_SHARE) return 'html'
    if (!Object.hasOwn(LIES, name)) return name
    const isEarly = nowMs < args.plan().knownMs
    if (isEarly || nowMs - (liedAt.get(fare) ?? 0) < ALONE_MS) return 'other_passengers'
    liedAt.set(fare, nowMs)
    return name
  }

  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (!pathname.endsWith('/verify')) {
      response.setHeader('content-type', 'application/json')
      response.end('[]')
      return
    }
    const ids = ['flightId', 'returnFlightId'].flatMap((name) => searchParams.get(name) ?? [])
    const nowMs = Date.now()
    const plan = args.plan()
    const lie = lieAt(plan, nowMs)
    // A lie about what was sold out a minute ago would be a lie about the price.
    const isOld = random() < 0.5 && lie === undefined
    const truth = ids.flatMap((id) => {
      const phase = phaseAt(plan, id, nowMs)
      if (!isOld || !isReplicated(id)) return phase ?? []
      const old = phaseAt(plan, id, nowMs - plan.replicaLagMs)
      if (old !== phase) counts.outdated += 1
      return old ?? []
    })
    const phases = truth.map((phase) => (lie === undefined ? phase : lied(phase, lie.kind)))
    const asked = { ids, phases, random }
    counts.answers += 1
    if (lie !== undefined) {
      counts.lying += 1
      liedAt.set(ids.join(), nowMs)
    }
    const fault = faultOf(ids.join(), nowMs)
    if (fault === undefined) {
      answerJson(response, entriesOf(asked))
      return
    }
    counts.faulty[fault] = (counts.faulty[fault] ?? 0) + 1
    const wrong = LIES[fault] ?? OTHERS[fault]
    if (wrong !== undefined) answerJson(response, wrong(asked))
    else BROKEN[fault]?.(response, asked)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    counts,
    close,
  }
}

function lied(phase: Phase, kind: 'loss' | 'gain' | 'price'): Phase {
  if (kind === 'loss') return { ...phase, amount: null }
  if (kind === 'gain') return { ...phase, amount: phase.last }
  return { ...phase, amount: phase.amount && (100 * Number(phase.amount)).toFixed(2) }
}
