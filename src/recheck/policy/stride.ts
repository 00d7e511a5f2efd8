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
 * The cost of one check: its payer pays it, divided by its share. This is stride scheduling (Waldspurger and Weihl, "Stride
 * scheduling: deterministic proportional-share resource management", 1995).
 *
 * The other resellers of the fare pay nothing. If they paid a part, a reseller whose fares all have others would never come
 * level with one that also has fares of its own: those would never be checked.
 */
export function chargeCheck(accounts: Accounts, { payer }: QueuedFare): void {
  const account = accounts.get(payer)
  if (account !== undefined) account.pass += 1 / account.share
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
  /** Whether the payer asked for a longest delay. */
  readonly isBounded: boolean
  readonly queue: QueueClock
}

/**
 * The virtual due time after a check: the point of the last scheduled check plus 1 / ticket, and at least at the end of the
 * minimum interval. A fare with a longest delay is due sooner after a late check: at least at the present. The schedule computes
 * the same in SQL.
 */
export function nextDue({
  vdue,
  ticket,
  nextTicket,
  isScheduled,
  seconds,
  isBounded,
  queue,
}: CheckedFare): number {
  const next = vdue + 1 / nextTicket - (isScheduled ? 0 : 1 / ticket)
  const interval = isBounded ? 0 : (seconds * queue.requestsPerSecond) / Math.max(queue.tickets, 1)
  return Math.max(next, queue.v + interval)
}
