/** What is true of a flight from an instant on: sold out, or for sale at an amount, at a time of the day. */
export interface Phase {
  readonly fromMs: number
  /** Null while it is sold out. */
  readonly amount: string | null
  /** The last amount at which it was for sale. */
  readonly last: string
  readonly time: string
}

export const MASS_LIES = ['loss', 'gain', 'price'] as const

/** A time in which the answers about most flights are wrong in the same way. */
export interface MassLie {
  readonly kind: (typeof MASS_LIES)[number]
  readonly fromMs: number
  readonly toMs: number
}

export interface TruthPlan {
  readonly fares: readonly (readonly string[])[]
  readonly phases: ReadonlyMap<string, readonly Phase[]>
  readonly lies: readonly MassLie[]
  readonly endMs: number
  /** By then each fare is known: of one that is not, a single answer is believed. */
  readonly knownMs: number
  /** The age of the older one of two replicas that answer by turns about some flights. */
  readonly replicaLagMs: number
  /** When many fares sell out truly, and stay so for a while; undefined where none do. */
  readonly trueMassMs: number | undefined
}

export interface PlanArgs {
  readonly fares: number
  readonly startMs: number
  readonly seconds: number
  readonly holdSeconds: number
  readonly random: () => number
}

const KNOWN_MS = 24_000

/** Every fifth fare has a return flight. One fare in three is sold out in the beginning. */
export function planTruth(args: PlanArgs): TruthPlan {
  const { startMs, seconds, holdSeconds, random } = args
  const fares = Array.from({ length: args.fares }, (_, i) =>
    i % 5 === 0 ? [`1${1_000 + i}`, `2${1_000 + i}`] : [`1${1_000 + i}`],
  )
  const endMs = startMs + seconds * 1000
  const isLong = seconds >= 300
  const phases = new Map<string, Phase[]>()
  for (const [i, legs] of fares.entries()) {
    for (const [leg, id] of legs.entries()) {
      const amount = (80 + 100 * random()).toFixed(2)
      const isLost = leg === 0 && i % 3 === 0
      phases.set(id, [{ fromMs: 0, amount: isLost ? null : amount, last: amount, time: '08:00' }])
    }
  }
  const everyMs = isLong ? 2_500 : 900
  const stays = isLong ? 150_000 : 40_000
  const ids = [...phases.keys()]
  for (let atMs = startMs + 1_000; atMs < endMs - 5_000; atMs += everyMs) {
    const id = ids[Math.floor(random() * ids.length)] ?? ''
    const all = phases.get(id) ?? []
    const last = all.at(-1)
    if (last === undefined || (all.length > 1 && atMs - last.fromMs < stays)) continue
    if (last.amount === null && atMs < startMs + KNOWN_MS) continue
    all.push({ ...next(last, random), fromMs: atMs })
  }
  const trueMassMs = isLong ? startMs + seconds * 400 : undefined
  if (trueMassMs !== undefined) addTrueMass(phases, fares, { fromMs: trueMassMs, holdSeconds })
  const knownMs = startMs + KNOWN_MS
  const replicaLagMs = isLong ? 45_000 : 8_000
  return { fares, phases, lies: planLies(args, isLong), endMs, knownMs, replicaLagMs, trueMassMs }
}

function next({ amount, last, time }: Phase, random: () => number): Omit<Phase, 'fromMs'> {
  if (amount === null) {
    const again = (80 + 100 * random()).toFixed(2)
    return { amount: again, last: again, time }
  }
  const kind = random()
  if (kind < 0.4) return { amount: null, last, time }
  if (kind < 0.55) return { amount, last, time: time === '08:00' ? '08:40' : '08:00' }
  const steps = [1.05, 0.95, 1.15, 0.88, 2.2, 0.45]
  const step = Number(amount) * (steps[Math.floor(random() * steps.length)] ?? 1)
  const price = Math.max(20, step).toFixed(2)
  return { amount: price, last: price, time }
}

/** Each lie lasts less than a hold. In the short run there is one of each kind. */
function planLies({ startMs, seconds, holdSeconds }: PlanArgs, isLong: boolean): MassLie[] {
  if (!isLong) {
    return [
      { kind: 'price', fromMs: startMs + 2_000, toMs: startMs + 10_000 },
      { kind: 'loss', fromMs: startMs + 12_000, toMs: startMs + 21_000 },
      { kind: 'gain', fromMs: startMs + 26_000, toMs: startMs + 34_000 },
    ]
  }
  const everySeconds = 1.5 * holdSeconds
  return Array.from({ length: Math.floor(seconds / everySeconds) }, (_, n): MassLie => {
    const fromMs = startMs + (n + 0.4) * everySeconds * 1000
    const lastsMs = holdSeconds * (300 + 250 * ((n + Math.floor(n / 3)) % 3))
    return { kind: MASS_LIES[n % 3] ?? 'loss', fromMs, toMs: fromMs + lastsMs }
  })
}

/** Two fares in five sell out together. */
function addTrueMass(
  phases: Map<string, Phase[]>,
  fares: TruthPlan['fares'],
  { fromMs, holdSeconds }: { fromMs: number; holdSeconds: number },
): void {
  const toMs = fromMs + 3 * holdSeconds * 1000
  for (const [i, [id = '']] of fares.entries()) {
    if (i % 5 > 1) continue
    const all = phases.get(id) ?? []
    const before = all.filter((phase) => phase.fromMs < fromMs)
    const later = all.filter((phase) => phase.fromMs > toMs)
    const last = before.at(-1)
    if (last === undefined || last.amount === null) continue
    phases.set(id, [...before, { ...last, fromMs, amount: null }, ...later])
  }
}

/** Whether two replicas answer about a flight. */
export function isReplicated(id: string): boolean {
  return id.endsWith('3') || id.endsWith('8')
}

export function phaseAt(plan: TruthPlan, id: string, atMs: number): Phase | undefined {
  const phases = plan.phases.get(id)
  return phases?.findLast(({ fromMs }) => fromMs <= atMs) ?? phases?.[0]
}

export function lieAt({ lies }: TruthPlan, atMs: number): MassLie | undefined {
  return lies.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs)
}
