import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { isAllowedAddress, urlFault } from '../../src/delivery/formats/target-policy.ts'
import { createTransport, type TransportOptions } from '../../src/delivery/formats/transport.ts'
import { startDemoReceiver } from '../../src/embedded/demo.ts'
import { startReceiver, targetOf } from './receiver.ts'

const PUBLIC_ONLY = { allowHttp: true, allowedNetworks: [] }
const BODY = { headers: {}, body: '{}' }
const { signal } = new AbortController()

function transportTo(
  policy: TransportOptions['policy'],
  resolve: TransportOptions['resolve'] & object,
) {
  return createTransport({ policy, resolve, scrub: (text) => text })
}

const SPECIAL = [
  '127.0.0.1',
  '127.8.9.10',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.64.0.1',
  '100.100.100.200',
  '0.0.0.0',
  '0.1.2.3',
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '198.18.0.1',
  '192.0.0.192',
  '192.88.99.1',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:7f00:1',
  '::127.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '2002:a00:1::',
  '2001:0:a00:1::',
  '2001:db8::1',
  'fe80::1',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '100::1',
]

// Fault: A webhook URL names a private or special address, in any notation, or a name that resolves to one. Refused when the
// endpoint is made if the URL spells the address, and blocked at every connect; not tried again.
it.each(SPECIAL)('the address %s is not allowed', (address) => {
  expect(isAllowedAddress(address, [])).toBe(false)
})

it.each(['93.184.215.14', '1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
  'the public address %s is allowed',
  (address) => {
    expect(isAllowedAddress(address, [])).toBe(true)
  },
)

it.each([
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['10.2.0.1', false],
  ['fd00:1::5', true],
  ['fd00:2::5', false],
])('with two networks allowed, the address %s gives %s', (address, allowed) => {
  expect(isAllowedAddress(address, ['10.1.0.0/16', 'fd00:1::/32'])).toBe(allowed)
})

const FORMS = [
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://127.1/',
  'https://127.0.0.1./',
  'https://１２７.0.0.1/',
  'https://0/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://a.localhost/',
  'http://169.254.169.254/latest/meta-data/',
]

it.each(FORMS)('the URL %s is refused before anything is resolved', async (address) => {
  const resolved: string[] = []
  const transport = transportTo(PUBLIC_ONLY, async (hostname) => {
    resolved.push(hostname)
    return ['1.1.1.1']
  })

  const result = await transport.post(targetOf(address), BODY, signal)

  expect(result).toEqual({ kind: 'blocked', outcome: 'blocked', status: null, answer: '' })
  expect(resolved).toEqual([])
  await transport.close()
})

it.each([
  ['ftp://receiver.example/', 'must begin with https://'],
  ['http://receiver.example/', 'must begin with https://'],
  ['https://user@receiver.example/', 'must hold no user name and no password'],
  ['https://:key@receiver.example/', 'must hold no user name and no password'],
  ['https://receiver.example/#part', 'must hold no fragment'],
  ['receiver.example', 'must be a URL of the form https://…'],
  [' https://receiver.example/', 'must hold no spaces, control characters and backslashes'],
  ['https://receiver.example/a\r\nb: c', 'must hold no spaces, control characters and backslashes'],
  ['https://re\tceiver.example/', 'must hold no spaces, control characters and backslashes'],
  [
    'https://receiver.example\\@10.0.0.1/',
    'must hold no spaces, control characters and backslashes',
  ],
  [`https://receiver.example/${'x'.repeat(2_000)}`, 'must not be longer than 2000 characters'],
])('the URL %s has the fault "%s"', (url, fault) => {
  expect(urlFault(url, { allowHttp: false, allowedNetworks: [] })).toBe(fault)
})

it('plain http is allowed by a setting, and on loopback if its network is allowed', () => {
  const url = 'http://receiver.example/'
  const loopback = 'http://127.0.0.1:8090/'

  expect(urlFault(url, { allowHttp: true, allowedNetworks: [] })).toBeUndefined()
  expect(urlFault(loopback, { allowHttp: true, allowedNetworks: [] })).toBeDefined()
  expect(
    urlFault(loopback, { allowHttp: false, allowedNetworks: ['127.0.0.1/32'] }),
  ).toBeUndefined()
})

it('the demo allows the port of its own receiver, and no other on this machine', async () => {
  const receiver = await startDemoReceiver(() => undefined)
  const policy = { allowHttp: false, allowedNetworks: [receiver.network] }

  expect(urlFault(receiver.url, policy)).toBeUndefined()
  expect(urlFault('http://127.0.0.1:8080/api/v1/status', policy)).toBeDefined()
  expect(urlFault('https://127.0.0.1/', policy)).toBeDefined()
  await receiver.close()
})

it('an allowed port of a network opens no other port, and no name that resolves to it', async () => {
  const answer = (_request: unknown, response: ServerResponse) => void response.writeHead(200).end()
  await using own = await startReceiver(answer)
  await using other = await startReceiver(answer)
  const policy = { allowHttp: false, allowedNetworks: [`127.0.0.1/32:${own.port}`] }
  const transport = transportTo({ ...policy, allowHttp: true }, async () => ['127.0.0.1'])
  const kindOf = async (url: string) => (await transport.post(targetOf(url), BODY, signal)).kind

  expect(urlFault(`http://127.0.0.1:${own.port}/`, policy)).toBeUndefined()
  expect(urlFault(`http://127.0.0.1:${other.port}/`, policy)).toBeDefined()
  expect(urlFault(`http://127.0.0.2:${own.port}/`, policy)).toBeDefined()
  expect(await kindOf(`http://127.0.0.1:${own.port}/`)).toBe('delivered')
  expect(await kindOf(`http://127.0.0.1:${other.port}/`)).toBe('blocked')
  expect(await kindOf(`http://receiver.example:${own.port}/`)).toBe('blocked')
  expect(other.requests).toEqual([])
  await transport.close()
})

it.each(SPECIAL)('a name that resolves to %s is blocked without a connection', async (address) => {
  const transport = transportTo(PUBLIC_ONLY, async () => ['1.1.1.1', address])

  const result = await transport.post(targetOf('http://receiver.example:9/'), BODY, signal)

  expect(result).toMatchObject({ kind: 'blocked' })
  await transport.close()
})

// Fault: DNS answers another address between check and connect.
it('a name is resolved once a connect, and another address of it is blocked at the next connect', async () => {
  await using receiver = await startReceiver((_request, response) =>
    response.writeHead(200, { connection: 'close' }).end(),
  )
  const answers = [['127.0.0.1'], ['127.0.0.2']]
  const transport = transportTo(
    { allowHttp: true, allowedNetworks: ['127.0.0.1/32'] },
    async () => answers.shift() ?? [],
  )
  const target = targetOf(`http://receiver.example:${receiver.port}/`)

  const first = await transport.post(target, BODY, signal)
  const second = await transport.post(target, BODY, signal)

  expect([first.kind, second.kind]).toEqual(['delivered', 'blocked'])
  expect(receiver.requests.map(({ headers }) => headers.host)).toEqual([
    `receiver.example:${receiver.port}`,
  ])
  expect(answers).toEqual([])
  await transport.close()
})
