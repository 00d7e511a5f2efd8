import { divideBudget } from '../../src/recheck/policy/divide-budget.ts'
import {
  type Account,
  chargeInOrder,
  nextDue,
  orderChecks,
} from '../../src/recheck/policy/stride.ts'

/** A reseller of this world. All its fares have equal tickets and no other reseller. */
interface Tenant {
  readonly watches: number
  readonly share: number
}

interface Rules {
  readonly requestsPerSecond: number
  readonly minIntervalSeconds: number
  readonly hours: number
}

interface Fare {
  readonly payer: number
  vdue: number
  notBefore: number
  checkedAt: number | null
}

/**
 * The mean detection delay of each reseller's fares in seconds: production's claims and due times in slots of an even budget.
 * Changes come at any moment, so the mean delay is Σ τ² / (2·Σ τ) over the intervals τ between checks.
 */
export function delaysOf(tenants: readonly Tenant[], rules: Rules): number[] {
  const { requestsPerSecond, minIntervalSeconds, hours } = rules
  const parts = divideBudget(
    tenants.map(({ watches, share }) => ({ share, most: watches / minIntervalSeconds })),
    requestsPerSecond,
  )
  const accounts = new Map<number, Account>(tenants.map(({ share }, i) => [i, { share, pass: 0 }]))
  const clocks = tenants.map(() => 0)
  const queues = tenants.map(({ watches }, payer) => newFares(watches, payer))
  const sums = tenants.map(() => ({ squares: 0, seconds: 0 }))
  let pass = 0
  for (let slot = 0; slot < hours * 3_600 * requestsPerSecond; slot += 1) {
    const now = slot / requestsPerSecond
    const heads = queues.map((fares, payer) => ({
      payer,
      fares: headOf(fares, now),
      hasMore: false,
    }))
    const { fares } = orderChecks(heads, accounts, { limit: 1, presentPass: pass })
    pass = chargeInOrder(accounts, fares, pass)
    for (const fare of fares) {
      const { payer } = fare
      const v = Math.max(clocks[payer] ?? 0, fare.vdue)
      clocks[payer] = v
      const queue = {
        v,
        tickets: tenants[payer]?.watches ?? 1,
        requestsPerSecond: (parts[payer] ?? 1) * requestsPerSecond,
      }
      addInterval(sums[payer], fare, now)
      const seconds = minIntervalSeconds
      const check = {
        vdue: fare.vdue,
        ticket: 1,
        nextTicket: 1,
        isScheduled: true,
        seconds,
        isBounded: false,
      }
      fare.vdue = nextDue({ ...check, queue })
      fare.notBefore = now + seconds
      fare.checkedAt = now
    }
  }
  return sums.map(({ squares, seconds }) => squares / (2 * seconds))
}

function newFares(watches: number, payer: number): Fare[] {
  return Array.from({ length: watches }, () => {
    return { payer, vdue: 0, notBefore: 0, checkedAt: null }
  })
}

/** The due fare with the least virtual due time. */
function headOf(fares: readonly Fare[], now: number): Fare[] {
  let head: Fare | undefined
  for (const fare of fares) {
    if (fare.notBefore <= now && (head === undefined || fare.vdue < head.vdue)) head = fare
  }
  return head === undefined ? [] : [head]
}

function addInterval(
  sums: { squares: number; seconds: number } | undefined,
  { checkedAt }: Fare,
  now: number,
): void {
  if (sums === undefined || checkedAt === null) return
  sums.squares += (now - checkedAt) ** 2
  sums.seconds += now - checkedAt
}

/** The delay of a reseller with one watch next to one with 1,000, to its delay alone with its share of the budget. */
export function smallResellerRatio(rules: Rules, shares: readonly [number, number]): number {
  const [large, small] = shares
  const one = { watches: 1, share: small }
  const [, together = Number.NaN] = delaysOf([{ watches: 1_000, share: large }, one], rules)
  const own = (rules.requestsPerSecond * small) / (large + small)
  const [alone = Number.NaN] = delaysOf([one], { ...rules, requestsPerSecond: own })
  return together / alone
}
