import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { ROUTE_LISTS } from '../../src/platform/base/kinds.ts'
import { parseMoney } from '../../src/platform/base/money.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import type { Provider } from '../../src/upstream/provider.ts'
import type { Question } from '../../src/upstream/question.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { fetchList } from '../support/fetch-list.ts'
import { type Answer, answering } from './answering-server.ts'
import { clientOf } from './client-fixture.ts'
import { ROUTES } from './routes-fixture.ts'
import { question } from './verify-fixtures.ts'

/** A body as the provider's upstream sends it. */
export interface Sent {
  readonly contentType: string
  readonly body: string
}

/** A provider, and how its upstream says what the tests need. */
export interface ProviderCase {
  readonly provider: Provider
  list(routes: readonly Route[]): Sent
  /** Each flight with the name of its airline. The flights fly at a price. */
  available(airlines: Readonly<Record<string, string>>): Sent
  /** A flight that is sold out or does not exist. */
  unavailable(flightId: string): Sent
}

const SECRET = 'a-secret-of-ours'
const AVAILABLE = { 1234: 'Tramontana Air' }
const { signal } = new AbortController()

/** What the client and the pipeline rely on. Every provider must pass. */
export function describeProvider(createCase: () => ProviderCase): void {
  const subject = createCase()
  const { provider } = subject

  async function withClient<T>(
    answer: Answer,
    act: (fixture: ReturnType<typeof clientOf>) => Promise<T>,
  ): Promise<T> {
    await using server = await answering(answer)
    const scrub = createScrub([SECRET])
    await using fixture = clientOf(server.url, { provider, accessToken: SECRET, scrub })
    return await act(fixture)
  }

  const verifying = (answer: Answer, asked: Question = question()): Promise<Observation> =>
    withClient(answer, ({ client }) => client.verifyFares(asked, { signal }))

  describe(`the lists of the provider ${provider.name}`, () => {
    it.each(ROUTE_LISTS)('the list %s has the routes and places that were sent', async (list) => {
      const pulled = await withClient(sent(subject.list(ROUTES)), ({ pull }) => pull(list))

      expect(pulled).toEqual(ROUTES)
    })

    it('each list has its own path, and each request the token', async () => {
      const requests: { readonly url: string | undefined; readonly all: string }[] = []
      const answer: Answer = ({ url, headers }, response) => {
        requests.push({ url, all: JSON.stringify([url, headers]) })
        send(response, subject.list(ROUTES))
      }

      await withClient(answer, async ({ client, pull }) => {
        for (const list of ROUTE_LISTS) await pull(list)
        await client.verifyFares(question(), { signal })
      })

      expect(new Set(requests.map(({ url }) => url)).size).toBe(ROUTE_LISTS.length + 1)
      expect(requests.filter(({ all }) => all.includes(SECRET))).toEqual(requests)
    })

    it('the size and the hash are those of the bytes that are kept', async () => {
      const { chunks, bytes, contentHash } = await withClient(
        sent(subject.list(ROUTES)),
        ({ client }) => fetchList(client, 'routes', { signal }),
      )

      const kept = Buffer.concat(chunks)
      expect(bytes).toBe(kept.length)
      expect(contentHash).toBe(createHash('sha256').update(kept).digest('hex'))
    })

    it('a body that is no list violates the contract', async () => {
      const answer = sent({ ...subject.list(ROUTES), body: '"no list"' })

      await expect(withClient(answer, ({ pull }) => pull())).rejects.toMatchObject({
        code: 'upstream.contract_violation',
      })
    })
  })

  describe(`the answers of the provider ${provider.name}`, () => {
    it('a flight that is sold out or does not exist is unavailable', async () => {
      const { outbound, anomalies } = await verifying(sent(subject.unavailable('1234')))

      expect(outbound).toEqual({ kind: 'unavailable' })
      expect(anomalies).toEqual([])
    })

    it('an available flight has money, times and an identity of our types', async () => {
      const observation = await verifying(sent(subject.available(AVAILABLE)))

      const { outbound, return: back, anomalies } = observation
      if (outbound.kind !== 'available') throw new Error(`the flight is ${outbound.kind}`)
      const { price, departsAt, identity, itinerary, flight } = outbound.flight
      expect([back, anomalies]).toEqual([null, []])
      expect(parseMoney(price?.amount, price?.currency)).toMatchObject({ currency: 'EUR' })
      expect(departsAt).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d$/)
      expect(flight.arrivesAt > departsAt).toBe(true)
      expect(flight).toMatchObject({ airline: 'Tramontana Air', departsAt })
      expect(flight.stops).toHaveLength(flight.numbers.length - 1)
      expect(identity).not.toBe(itinerary)
    })

    it('the outbound and the return flight are legs of one answer', async () => {
      const both = { ...AVAILABLE, 99: 'Back Air' }
      const asked = question({ returnFlightId: '99' })

      const { outbound, return: back } = await verifying(sent(subject.available(both)), asked)

      expect(outbound).toMatchObject({ flight: { flight: { airline: 'Tramontana Air' } } })
      expect(back).toMatchObject({ flight: { flight: { airline: 'Back Air' } } })
    })

    it('an answer about another flight leaves the flight unknown', async () => {
      const { outbound } = await verifying(sent(subject.available({ 99: 'Other Air' })))

      expect(outbound.kind).toBe('unknown')
    })

    it.each(['available', 'unavailable'])('no part of an answer "%s" is an answer', (kind) => {
      const whole =
        kind === 'available' ? subject.available(AVAILABLE) : subject.unavailable('1234')
      const bytes = Buffer.from(whole.body)
      const cuts = Array.from({ length: bytes.length }, (_, end) => [bytes.subarray(0, end)])

      const read = cuts.map((chunks) => provider.readAnswer(chunks, question(), createScrub([])))

      expect(new Set(read.map(({ outbound }) => outbound.kind))).toEqual(new Set(['unknown']))
    })

    it('an answer of another type is none', async () => {
      const image = { ...subject.available(AVAILABLE), contentType: 'image/png' }

      const { outbound } = await verifying(sent(image))

      expect(outbound).toEqual({ kind: 'unknown', reason: 'malformed' })
    })

    it('an answer and its evidence are scrubbed', async () => {
      const observation = await verifying(sent(subject.available({ 1234: `Air ${SECRET}` })))

      expect(observation.outbound.kind).toBe('available')
      expect(JSON.stringify(observation)).not.toContain(SECRET)
    })

    it('the evidence has the body, the status, the age and the version of the reader', async () => {
      const answer = subject.unavailable('1234')

      const observation = await verifying(sent(answer, { age: '7' }))

      expect(observation.ageSeconds).toBe(7)
      expect(observation.evidence).toMatchObject({
        body: answer.body,
        status: 200,
        parserVersion: provider.parserVersion,
      })
    })

    it('equal questions have equal paths, others have others', () => {
      const terms = question({ returnFlightId: '99' })
      const asked = [question(), question(), terms, question({ flightId: '1' })]
      const [first, ...paths] = asked.map((one) => provider.verifyRequest(one).path)

      expect(paths[0]).toBe(first)
      expect(new Set([first, ...paths]).size).toBe(3)
    })
  })
}

function send(
  response: ServerResponse,
  { contentType, body }: Sent,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(200, { 'content-type': contentType, ...headers })
  response.end(body)
}

/** A 200 with this body. */
function sent(answer: Sent, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => send(response, answer, headers)
}
