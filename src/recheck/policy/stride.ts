/** What a reseller has paid for checks. `pass` is updated in place. */
export interface Account {
  readonly share: number
  pass: number
}

/** The accounts of resellers by their numbers. */
export type Accounts = ReadonlyMap<number, Account>

/** A fare in the queue of its payer. */
export interface QueuedFare {
  readonly payer: number
  /** The resellers that watch it, without duplicates. */
  readonly resellers: readonly number[]
}

/** The head of a reseller's queue. */
export interface PayerQueue<F extends QueuedFare> {
  readonly payer: number
  /** Its due fares, the smallest virtual due time first. */
  readonly fares: readonly F[]
  /** Whether more fares are due than these. */
  readonly hasMore: boolean
}

/**
 * The cost of one check: each reseller of the fare pays an equal part, divided by its share. This is stride scheduling
 * (Waldspurger and Weihl, "Stride scheduling: deterministic proportional-share resource management", 1995) with a cost
 * that several clients split.
 */
export function chargeCheck(accounts: Accounts, { payer, resellers }: QueuedFare): void {
  const paying = resellers.length > 0 ? resellers : [payer]
  for (const id of paying) {
    const account = accounts.get(id)
    if (account !== undefined) account.pass += 1 / (paying.length * account.share)
  }
}

/**
 * Charges checks of the schedule in their order. Returns the largest pass of a payer when its fare was checked.
 *
 * A payer that had no fare due has less pass than those that waited. It starts at the present pass, so that it saves
 * nothing up while it is idle.
 */
export function chargeInOrder(
  accounts: Accounts,
  fares: readonly QueuedFare[],
  presentPass: number,
): number {
  let present = presentPass
  for (const fare of fares) {
    const account = accounts.get(fare.payer)
    if (account !== undefined) {
      present = Math.max(present, account.pass)
      account.pass = present
    }
    chargeCheck(accounts, fare)
  }
  return present
}

export interface OrderedChecks<F> {
  /** The fares in the order of their checks. */
  readonly fares: readonly F[]
  /** Payers whose given fares are all checked before the limit is reached, although they have more due fares. */
  readonly short: readonly number[]
}

/**
 * The next checks: again and again the payer with the least pass, of equal ones that with the least number, and the first fare
 * of its queue. Charges nothing: not every check may get a slot.
 */
export function orderChecks<F extends QueuedFare>(
  queues: readonly PayerQueue<F>[],
  accounts: Accounts,
  { limit, presentPass }: { readonly limit: number; readonly presentPass: number },
): OrderedChecks<F> {
  const trial = new Map([...accounts].map(([id, account]) => [id, { ...account }]))
  const waiting = queues.map((queue) => ({ ...queue, next: 0 })).sort((a, b) => a.payer - b.payer)
  const fares: F[] = []
  const short: number[] = []
  let present = presentPass
  const passOf = (payer: number) => Math.max(present, trial.get(payer)?.pass ?? 0)
  while (fares.length < limit) {
    let first: (typeof waiting)[number] | undefined
    for (const queue of waiting) {
      if (queue.next === queue.fares.length) continue
      if (first === undefined || passOf(queue.payer) < passOf(first.payer)) first = queue
    }
    const fare = first?.fares[first.next]
    if (first === undefined || fare === undefined) break
    first.next += 1
    fares.push(fare)
    const isEmpty = first.next === first.fares.length
    if (isEmpty && first.hasMore && fares.length < limit) short.push(first.payer)
    present = chargeInOrder(trial, [fare], present)
  }
  return { fares, short }
}

/** The reseller that pays for a fare from now on: of its resellers the one with the least pass. */
export function choosePayer(resellers: readonly number[], accounts: Accounts): number | undefined {
  const passOf = (id: number) => accounts.get(id)?.pass ?? Number.POSITIVE_INFINITY
  const [first, ...others] = resellers
  if (first === undefined) return undefined
  return others.reduce((least, id) => (passOf(id) < passOf(least) ? id : least), first)
}

/** The virtual time of a payer's queue. */
export interface QueueClock {
  /** The largest virtual due time that was claimed (V). */
  readonly v: number
  /** The sum of its tickets (S). */
  readonly tickets: number
  /** The checks a second that it can have (B). */
  readonly requestsPerSecond: number
}

export interface CheckedFare {
  readonly vdue: number
  readonly ticket: number
  readonly nextTicket: number
  /** Whether the check was one of the schedule. A confirmation, a retry and a check on demand are none. */
  readonly isScheduled: boolean
  /** The minimum interval. */
  readonly seconds: number
  readonly from: Pick<QueueClock, 'v'>
  readonly to: QueueClock
}

/**
 * The virtual due time after a check: the point of the last scheduled check plus 1 / ticket, moved from the clock of the old payer to
 * that of the new one, and at least at the end of the minimum interval. The schedule computes the same in SQL.
 */
export function nextDue({
  vdue,
  ticket,
  nextTicket,
  isScheduled,
  seconds,
  from,
  to,
}: CheckedFare): number {
  const moved = vdue + (to.v - from.v) + 1 / nextTicket - (isScheduled ? 0 : 1 / ticket)
  return Math.max(moved, to.v + (seconds * to.requestsPerSecond) / Math.max(to.tickets, 1))
}
