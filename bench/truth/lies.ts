import { draw, mix } from '../../sandbox/world/random.ts'
import { entryOf, honestBody, responseOf, type Twist, type Wire } from './answers.ts'
import { type Fare, type Flight, type Phase, phasesAt } from './market.ts'

/** A question at an instant, while a lie lasts. */
export interface Asked {
  readonly fare: Fare
  readonly atMs: number
  /** What is true of each leg. */
  readonly phases: readonly Phase[]
  /** When the lie began. */
  readonly sinceMs: number
}

/** A way in which an upstream is wrong for some minutes. */
export interface Lie {
  readonly name: string
  /** Whether the answers about a fare are wrong. */
  readonly isAbout: (fare: Fare) => boolean
  readonly answer: (asked: Asked) => Wire
}

/** Lies of the same time, about different fares. */
export interface Lies {
  readonly seconds: number
  readonly lies: readonly Lie[]
}

/** Copies of a cache are kept so long. */
const COPY_MS = 240_000
/** So many of them are of a wrong answer. */
const WRONG_COPIES = 0.01
const SEATS_SECONDS = 15

const everybody = () => true
const isPair = ({ legs }: Fare) => legs[1] !== undefined
const isConnecting = ({ legs }: Fare) => legs.some((flight) => (flight?.places.length ?? 0) > 2)

/** The fares whose draw lies in an interval: so many of all. */
function share(from: number, to: number) {
  return ({ number }: Fare) => {
    const at = draw(1, number)
    return at >= from && at < to
  }
}

const TWENTIETH = share(0, 0.05)
const ofAirline = (size: number) => {
  return ({ legs }: Fare) => legs[0].airline.size === size
}

/** A number in [0, 1) that belongs to a fare and an instant. */
function drawAt({ number }: Fare, atMs: number): number {
  return draw(mix(2, number), Math.floor(atMs) % 2 ** 31)
}

type Entry = (flight: Flight, phase: Phase, leg: number) => object | undefined

/** An answer with an entry for each leg, or none where it is undefined. */
function answerWith(
  { fare: { legs }, phases, atMs }: Asked,
  entry: Entry,
  more: object = {},
): Wire {
  const entries = phases.flatMap((phase, leg) => {
    const flight = legs[leg]
    const made = flight && entry(flight, phase, leg)
    return flight === undefined || made === undefined ? [] : [[flight.id, made]]
  })
  return responseOf(JSON.stringify({ ...Object.fromEntries(entries), ...more }), atMs)
}

/** The honest answer of phases other than the present ones. */
function answerAs({ fare, atMs }: Asked, phases: readonly Phase[]): Wire {
  return responseOf(honestBody(fare, phases), atMs)
}

const withSale = (isForSale: (phase: Phase) => boolean) => (asked: Asked) =>
  answerWith(asked, (flight, phase) =>
    entryOf(flight, { ...phase, isForSale: isForSale(phase) }, asked.fare),
  )
const soldOut = withSale(() => false)
const forSale = withSale(() => true)

const twist = (how: Twist) => (asked: Asked) =>
  answerWith(asked, (flight, phase) =>
    entryOf(flight, phase, { ...how, passengers: asked.fare.passengers }),
  )

/** All are sold out, with more in each entry or next to them. */
const soldOutWith =
  (inside: object, more: object = {}) =>
  (asked: Asked) =>
    answerWith(asked, () => ({ available: false, ...inside }), more)

function swapped(asked: Asked): Wire {
  const { fare, phases } = asked
  return answerWith(asked, ({ id }, _, leg) => {
    const [other, phase] = [fare.legs[1 - leg], phases[1 - leg]]
    if (other === undefined || phase === undefined) return undefined
    const entry = entryOf(other, phase, fare)
    return phase.isForSale
      ? { ...entry, flight: { ...(entry.flight as object), id: Number(id) } }
      : entry
  })
}

function copied({ fare, atMs, ...asked }: Asked): Wire {
  const madeMs = Math.floor(atMs / COPY_MS) * COPY_MS
  const copy = { ...asked, fare, atMs: madeMs, phases: phasesAt(fare, madeMs) }
  const isWrong = drawAt(fare, madeMs) < WRONG_COPIES
  return isWrong ? withSale(({ isForSale }) => !isForSale)(copy) : answerAs(copy, copy.phases)
}

function aged({ fare, atMs }: Asked): Wire {
  const ageSeconds = Math.floor(240 * drawAt(fare, atMs))
  const body = honestBody(fare, phasesAt(fare, atMs - 1_000 * ageSeconds))
  return responseOf(body, atMs, { age: String(ageSeconds) })
}

function seatsForMoments(asked: Asked): Wire {
  const { fare, atMs } = asked
  const second = (atMs / 1_000 + 60 * draw(3, fare.number)) % 60
  return second < SEATS_SECONDS ? forSale(asked) : answerAs(asked, asked.phases)
}

const lie = (name: string, isAbout: Lie['isAbout'], answer: Lie['answer']): Lie => ({
  name,
  isAbout,
  answer,
})

const alone = (seconds: number, ...of: Parameters<typeof lie>): Lies => {
  return { seconds, lies: [lie(...of)] }
}

const MEMBERS: Lies = {
  seconds: 600,
  lies: [
    lie('sold out, with a message', share(0, 0.01), soldOutWith({ message: 'try again' })),
    lie('sold out, with a reason', share(0.01, 0.02), soldOutWith({ reason: 'provider timeout' })),
    lie('sold out, next to success: false', share(0.02, 0.03), soldOutWith({}, { success: false })),
    lie('sold out, next to retryAfter', share(0.03, 0.04), soldOutWith({}, { retryAfter: 30 })),
    lie('sold out, next to partial: true', share(0.04, 0.05), soldOutWith({}, { partial: true })),
  ],
}

/** What an upstream reports that is not true, in the order of a run. The longest comes last. */
export const LIES: readonly Lies[] = [
  alone(140, 'an airline of thirty sold out', ofAirline(30), soldOut),
  alone(40, 'all sold out for 40 s', everybody, soldOut),
  alone(180, 'departures in UTC, of a twentieth', TWENTIETH, twist({ isUtc: true })),
  MEMBERS,
  alone(180, 'departures in UTC, of all', everybody, twist({ isUtc: true })),
  alone(
    300,
    'the total of one adult for several',
    ({ passengers: [a, c] }) => a + c > 1,
    twist({ totalOf: [1, 0] }),
  ),
  alone(300, 'connecting flights without a leg', isConnecting, twist({ isCut: true })),
  alone(720, 'copies for 240 s, one in a hundred wrong', everybody, copied),
  alone(300, 'another currency, of a twentieth', TWENTIETH, twist({ currency: 'USD' })),
  alone(600, 'seats for 15 s a minute', share(0, 0.2), seatsForMoments),
  alone(300, 'legs that show each other', isPair, swapped),
  alone(300, 'all sold out for 5 min', everybody, soldOut),
  alone(300, 'prices times 100, of a twentieth', TWENTIETH, twist({ factor: 100 })),
  alone(600, 'answers with an Age', everybody, aged),
  alone(300, 'prices that jump, of a twentieth', TWENTIETH, (asked) =>
    twist({ factor: 0.5 + 1.5 * drawAt(asked.fare, asked.atMs) })(asked),
  ),
  alone(300, 'all for sale for 5 min', everybody, forSale),
  alone(1_200, 'two replicas, one of them stuck', everybody, (asked) =>
    drawAt(asked.fare, asked.atMs) < 0.5
      ? answerAs(asked, phasesAt(asked.fare, asked.sinceMs))
      : answerAs(asked, asked.phases),
  ),
  alone(300, 'prices times 100, of all', everybody, twist({ factor: 100 })),
  // It lasts longer than a hold, and is recorded then as if it were true.
  alone(1_800, 'all sold out for 30 min', everybody, soldOut),
]
