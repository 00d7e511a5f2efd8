import { type ScheduleSums, ticketOf, type Worth } from './ticket.ts'

/** A fare that more than one reseller watches. */
export interface SharedFare {
  readonly id: number
  /** The reseller in whose queue it is, and its ticket there. */
  readonly payer: number
  readonly ticket: number
  /** What the fare is worth to each of its resellers. */
  readonly worths: ReadonlyMap<number, Worth>
  readonly minIntervalSeconds: number
}

/** A fare in the queue of one of its resellers. */
export interface Place {
  readonly payer: number
  readonly ticket: number
  /** The checks a second that its longest delay needs there. */
  readonly promised: number
  /** The expected interval. */
  readonly seconds: number
}

export interface Move {
  readonly id: number
  readonly from: Place
  readonly to: Place
}

/** A fare moves if its interval becomes shorter by this factor, so that small differences do not move it to and fro. */
export const LEAST_GAIN = 1.1

/**
 * The moves after which each of the shared fares is in the queue where its expected interval is about the shortest. Each move
 * counts when the next one is decided, so that the fares do not all go to the same queue.
 *
 * So what others watch hardly slows the fares of a reseller: a queue has only fares of its own reseller, so it is not longer than
 * if the reseller were alone with its share, and a fare leaves it only for a shorter interval. This is selfish load balancing
 * (Vöcking, in Nisan et al., "Algorithmic game theory", 2007, chapter 20).
 */
export function balanceQueues(
  fares: readonly SharedFare[],
  queues: ReadonlyMap<number, ScheduleSums>,
): Move[] {
  const sums = new Map(queues)
  return fares.flatMap((fare) => {
    const places = placesOf(fare, sums)
    const present = places.find(({ payer }) => payer === fare.payer)
    const [to] = places.toSorted((a, b) => a.seconds - b.seconds)
    if (present === undefined || to === undefined || to === present) return []
    if (to.seconds * LEAST_GAIN > present.seconds) return []
    const from = { ...present, ticket: fare.ticket }
    count(sums, from, -1)
    count(sums, to, 1)
    return [{ id: fare.id, from, to }]
  })
}

function placesOf(
  { payer: present, ticket: oldTicket, worths, minIntervalSeconds }: SharedFare,
  queues: ReadonlyMap<number, ScheduleSums>,
): Place[] {
  return [...worths].flatMap(([payer, worth]) => {
    const queue = queues.get(payer)
    if (queue === undefined) return []
    const isPresent = payer === present
    const promised = worth.maxDelaySeconds ? 1 / worth.maxDelaySeconds : 0
    // A queue that has promised too much keeps less of each promise, also of this one.
    const all = (queue.promised ?? 0) + (isPresent ? 0 : promised)
    const ticket = ticketOf(worth, { ...queue, promised: all })
    const others = Math.max(0, queue.tickets - (isPresent ? oldTicket : 0))
    const seconds = (others + ticket) / (ticket * queue.requestsPerSecond)
    return [{ payer, ticket, seconds: Math.max(minIntervalSeconds, seconds), promised }]
  })
}

function count(
  queues: Map<number, ScheduleSums>,
  { payer, ticket, promised }: Place,
  sign: 1 | -1,
): void {
  const queue = queues.get(payer)
  if (queue === undefined) return
  queues.set(payer, {
    ...queue,
    tickets: Math.max(0, queue.tickets + sign * ticket),
    fares: Math.max(0, queue.fares + sign),
    promised: Math.max(0, (queue.promised ?? 0) + sign * promised),
  })
}
