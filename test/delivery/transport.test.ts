import { afterEach, expect, it, vi } from 'vitest'
import { createTransport, type TransportOptions } from '../../src/delivery/formats/transport.ts'
import { type Answer, startReceiver, targetOf } from './receiver.ts'

const LOOPBACK = { allowHttp: false, allowedNetworks: ['127.0.0.1/32'] }
const BODY = { headers: { 'webhook-id': 'one' }, body: '{}' }
const { signal } = new AbortController()

const open: { close(): Promise<void> }[] = []

function transportWith(options: Partial<TransportOptions> = {}) {
  const transport = createTransport({ policy: LOOPBACK, scrub: (text) => text, ...options })
  open.push(transport)
  return transport
}

afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(open.splice(0).map((transport) => transport.close()))
})

async function postTo(answer: Answer, options: Partial<TransportOptions> = {}) {
  await using receiver = await startReceiver(answer)
  return await transportWith(options).post(targetOf(receiver.url), BODY, signal)
}

it.each([
  [200, { kind: 'delivered' }],
  [204, { kind: 'delivered' }],
  [304, { kind: 'failed', outcome: 'http_3xx' }],
  [404, { kind: 'failed', outcome: 'http_4xx' }],
  [410, { kind: 'gone', outcome: 'gone' }],
  [500, { kind: 'failed', outcome: 'http_5xx' }],
  // Fault: A webhook receiver answers 410, 429 or 500, or redirects.
] as const)('an answer with status %i gives %j', async (status, expected) => {
  const result = await postTo((_request, response) => response.writeHead(status).end())

  expect(result).toMatchObject({ ...expected, status })
})

/** Sends its headers byte by byte. */
const drip: Answer = (_request, { socket }) => {
  socket?.write('HTTP/1.1 200 OK\r\nx-long: ')
  const timer = setInterval(() => socket?.write('x'), 10)
  socket?.once('close', () => clearInterval(timer))
}

it.each<[string, Answer, string]>([
  ['resets the connection', (_request, { socket }) => void socket?.resetAndDestroy(), 'reset'],
  ['does not speak HTTP', (_request, { socket }) => void socket?.end('hello\r\n\r\n'), 'malformed'],
  ['sends its headers byte by byte', drip, 'timeout'],
  // Fault: A webhook receiver drips, resets, or never ends its answer.
])('a receiver that %s fails', async (_what, answer, outcome) => {
  const deadlineMs = outcome === 'timeout' ? 150 : 15_000

  expect(await postTo(answer, { deadlineMs })).toMatchObject({ kind: 'failed', outcome })
})

it('a receiver gets the body and the headers of a POST', async () => {
  await using receiver = await startReceiver()

  await transportWith().post(targetOf(`${receiver.url}/hook?a=1`), BODY, signal)

  expect(receiver.requests).toMatchObject([
    {
      path: '/hook?a=1',
      body: '{}',
      headers: {
        'webhook-id': 'one',
        'content-type': 'application/json',
        'user-agent': 'farewatch',
      },
    },
  ])
})

it('a redirect is a failure, and nothing is sent to where it points', async () => {
  await using inside = await startReceiver()

  const result = await postTo((_request, response) =>
    response.writeHead(307, { location: inside.url }).end(),
  )

  expect(result).toMatchObject({ kind: 'failed', outcome: 'http_3xx' })
  expect(inside.requests).toEqual([])
})

it.each([
  ['120', 120_000],
  ['9999999', 86_400_000],
])('a receiver that asks to wait %s seconds is given %i ms', async (header, retryAfterMs) => {
  const result = await postTo((_request, response) =>
    response.writeHead(429, { 'retry-after': header }).end(),
  )

  expect(result).toMatchObject({ kind: 'failed', outcome: 'http_4xx', retryAfterMs })
})

// Fault: A webhook receiver never answers.
it('a receiver that never answers ends in a timeout, and its connection is closed', async () => {
  await using receiver = await startReceiver(() => undefined)

  const result = await transportWith({ deadlineMs: 50 }).post(targetOf(receiver.url), BODY, signal)

  expect(result).toMatchObject({ kind: 'failed', outcome: 'timeout', status: null })
  await receiver.allClosed()
})

it('of an endless answer only the beginning is read and a kilobyte is kept', async () => {
  let written = 0
  const endless: Answer = (_request, response) => {
    const more = () => {
      let flows = !response.destroyed
      while (flows) {
        written += 16_384
        flows = response.write('z'.repeat(16_384)) && !response.destroyed
      }
    }
    response.on('drain', more)
    more()
  }
  await using receiver = await startReceiver(endless)

  const result = await transportWith().post(targetOf(receiver.url), BODY, signal)

  expect(result).toMatchObject({ kind: 'delivered' })
  expect(result.answer).toHaveLength(1_024)
  await receiver.allClosed()
  // What the sockets of both sides hold in between is not read by us.
  expect(written).toBeLessThan(16_000_000)
})

it('an answer shows neither the secrets of the endpoint nor the parts of its URL', async () => {
  await using receiver = await startReceiver(({ path, headers }, response) => {
    response.writeHead(404).end(JSON.stringify({ path, key: headers['x-key'], own: 'OWN-SECRET' }))
  })
  const transport = transportWith({ scrub: (text) => text.replace('OWN-SECRET', '[redacted]') })
  const target = targetOf(`${receiver.url}/hooks/T0KEN-1234?code=QUERY%20KEY`, [
    'whsec_c2lnbmluZw==',
  ])

  const result = await transport.post(
    target,
    { headers: { 'x-key': 'whsec_c2lnbmluZw== QUERY KEY' }, body: '' },
    signal,
  )

  expect(result.answer).toContain('[redacted]')
  expect(result.answer).not.toMatch(/T0KEN|QUERY|c2ln|OWN/)
})

it.for([
  'query: pin=QQ1&tan=QQ2',
  'HTML: pin=QQ1&amp;tan=QQ2',
  'JSON: pin=QQ1\\u0026tan=QQ2',
  'value: QQ%2FSECRET',
  'value: QQ/SECRET',
  'form: QQ SECRET PLUS',
  'name: QQ-ONLY-A-NAME',
  'path: /QQa/QQb/',
])('an answer does not show a part of the URL by itself (%s)', async (echoed) => {
  await using receiver = await startReceiver((_request, response) => void response.end(echoed))
  const urls = [
    `${receiver.url}/h?pin=QQ1&tan=QQ2`,
    `${receiver.url}/h?a=QQ%2FSECRET&b=QQ+SECRET+PLUS&QQ-ONLY-A-NAME`,
    `${receiver.url}/QQa/QQb/`,
  ]

  const answers = []
  for (const url of urls) answers.push(await transportWith().post(targetOf(url), BODY, signal))

  expect(answers.filter(({ answer }) => answer.includes('QQ'))).toHaveLength(2)
})

it('a cut answer does not end in a part of a secret', async () => {
  const token = 't'.repeat(1_800)
  await using receiver = await startReceiver((_request, response) => {
    response.end(`${token}`.repeat(37).slice(0, 65_600))
  })

  const result = await transportWith().post(targetOf(`${receiver.url}/${token}`), BODY, signal)

  expect(result.answer).not.toContain('ttt')
})

it('a proxy of the environment is not used', async () => {
  await using proxy = await startReceiver()
  await using receiver = await startReceiver()
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) vi.stubEnv(name, proxy.url)

  await transportWith().post(targetOf(receiver.url), BODY, signal)

  expect([proxy.requests.length, receiver.requests.length]).toEqual([0, 1])
})
