import { describe, expect, it, onTestFinished } from 'vitest'
import { chatUrlFault, createChatFormat } from '../../src/delivery/formats/chat.ts'
import type { Message, PostResult, Target } from '../../src/delivery/formats/format.ts'
import { SLACK } from '../../src/delivery/formats/slack.ts'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { SOLD_OUT, soldOut, TARGET } from './message-fixtures.ts'
import { startReceiver } from './receiver.ts'

const HOOK = 'https://hooks.slack.com/services/T0/B0/secret'
const MATTERMOST = 'https://chat.example/hooks/secret'

const targetAt = (address: string): Target => ({ ...TARGET, address })

/** Sends messages to a receiver that answers this. Returns the result and the payload that arrived. */
async function send(
  messages: readonly Message[],
  { to = HOOK, answer = {} }: { to?: string; answer?: Partial<PostResult> } = {},
) {
  const bodies: string[] = []
  const transport = {
    post: async (_: Target, { body }: { body: string }) => {
      bodies.push(body)
      return { kind: 'delivered', status: 200, answer: 'ok', ...answer } as PostResult
    },
  }
  const format = createChatFormat(SLACK, { transport, hosts: ['hooks.slack.com', 'chat.example'] })
  const result = await format.send(targetAt(to), messages, new AbortController().signal)
  return { result, bodies, text: bodies.map((body) => String(JSON.parse(body).text))[0] ?? '' }
}

describe('a message to Slack', () => {
  it('is the sentence of the change, without markup, mentions and previews', async () => {
    const { result, bodies } = await send([soldOut()])

    expect(result).toMatchObject({ kind: 'delivered', status: 200 })
    expect(bodies.map((body) => JSON.parse(body))).toEqual([
      {
        text: SOLD_OUT,
        mrkdwn: false,
        parse: 'none',
        link_names: false,
        unfurl_links: false,
        unfurl_media: false,
      },
    ])
  })

  it('joins several messages and counts those that it does not list', async () => {
    const messages = Array.from({ length: 90 }, (_, i) => soldOut({ seq: i + 1 }))

    const lines = (await send(messages)).text.split('\n')

    expect(lines[0]).toBe('90 changes of your watched fares:')
    expect(lines.filter((line) => line === `• ${SOLD_OUT}`)).toHaveLength(50)
    expect(lines.at(-1)).toBe('• and 40 more: numbers 51 to 90 of your feed')
  })

  it('counts no test as a change, and says which sentence is an example', async () => {
    const { deliveryId, timestamp, data } = soldOut()
    const test = { deliveryId, timestamp, type: 'webhook.test', data: {} }
    const example = { deliveryId, timestamp, type: 'example.became_unavailable', data }

    const { text } = await send([test, example, soldOut()])

    expect(text.split('\n')).toEqual([
      '1 change of your watched fares, 2 tests:',
      '• This is a test. Messages of farewatch arrive here.',
      `• Example: ${SOLD_OUT}`,
      `• ${SOLD_OUT}`,
    ])
  })

  it('shows hostile names and references as text', async () => {
    const hostile = soldOut({
      airline: '<!channel> *free* @here https://evil.example',
      reference: '<https://evil.example|here> & <@U1>',
    })

    const { text } = await send([hostile])

    expect(text).toContain('&lt;!channel&gt; *free* \uff20here https evil\u2024example')
    expect(text).toContain('&lt;https://evil.example|here&gt; &amp; &lt;@U1&gt;')
    expect(text).not.toMatch(/[<>\n]/)
  })

  it('has its markup and mentions masked for programs that read Markdown', async () => {
    const hostile = soldOut({ airline: '**x** [a](b) `c` ![d](e)', reference: '@channel #town' })

    const { text } = await send([hostile], { to: MATTERMOST })

    expect(text).toContain('\\*\\*x\\*\\* \\[a\\](b) \\`c\\` \\!\\[d\\](e)')
    expect(text).toContain('\uff20channel \\#town')
    expect(text).not.toContain('@')
  })

  it('names a record of an unknown form by its number', async () => {
    const odd = { ...soldOut(), data: { seq: 7, kind: 'became_unavailable', reference: 'A-1' } }

    expect((await send([odd, soldOut()])).text.split('\n').slice(1)).toEqual([
      '• record 7 of your feed, became unavailable [A-1]',
      `• ${SOLD_OUT}`,
    ])
  })

  it('says what a test and a disabled endpoint mean', async () => {
    const event = { deliveryId: 'd', timestamp: '2026-11-22T13:00:00.000Z' }

    const test = await send([{ ...event, type: 'webhook.test', data: {} }])
    const disabled = (data: object) => ({ ...event, type: 'webhook.disabled', data })
    const target = 'receiver.example'
    const named = { endpointId: 'e-7', description: 'booking engine', target }
    const gone = await send([disabled({ ...named, reason: 'gone' })])
    const failing = await send([disabled({ endpointId: 'e-7', reason: 'failing' })])

    expect(test.text).toBe('This is a test. Messages of farewatch arrive here.')
    expect(gone.text).toMatch(
      /^Another endpoint of this account \(booking engine, receiver\u2024example, e-7\) was disabled: its receiver answered that it is gone\./,
    )
    expect(failing.text).toMatch(
      /\(e-7\) was disabled: every delivery to it failed for five days\./,
    )
  })
})

describe('the answer of Slack', () => {
  it.each([
    [404, 'no_service', 'gone'],
    [404, 'channel_not_found', 'gone'],
    [404, '<html>', 'failed'],
    [403, 'no_service', 'failed'],
    [400, 'invalid_payload', 'failed'],
    [429, 'rate_limited', 'failed'],
  ])('with status %i and "%s" means: %s', async (status, answer, kind) => {
    const { result } = await send([soldOut()], {
      answer: { kind: 'failed', outcome: 'http_4xx', status, answer },
    })

    expect(result).toMatchObject({ kind, status, answer })
  })
})

describe('an incoming webhook on a real connection', () => {
  it('receives the form of Slack, and its answer decides', async () => {
    await using receiver = await startReceiver(({ path }, response) => {
      response.writeHead(path === '/services/removed' ? 404 : 200)
      response.end(path === '/services/removed' ? 'no_service' : 'ok')
    })
    const policy = { allowHttp: true, allowedNetworks: ['127.0.0.0/8'] }
    const transport = createTransport({ policy, scrub: (text) => text })
    onTestFinished(() => transport.close())
    const format = createChatFormat(SLACK, { transport, hosts: [`127.0.0.1:${receiver.port}`] })
    const sendTo = (path: string) =>
      format.send(targetAt(`${receiver.url}${path}`), [soldOut()], new AbortController().signal)

    expect(await sendTo('/services/T0/B0/x')).toEqual({
      kind: 'delivered',
      status: 200,
      answer: 'ok',
    })
    expect(await sendTo('/services/removed')).toMatchObject({ kind: 'gone', status: 404 })
    expect(receiver.requests[0]).toMatchObject({
      path: '/services/T0/B0/x',
      headers: { 'content-type': 'application/json' },
    })
    expect(JSON.parse(receiver.requests[0]?.body ?? '')).toMatchObject({
      text: SOLD_OUT.replace(/[[\]]/g, '\\$&'),
    })
  })
})

describe('the URL of an incoming webhook', () => {
  const hosts = ['hooks.slack.com', 'chat.example:8065', 'Mattermost.example:443', 'rocket.example']
  it.each([
    [HOOK, undefined],
    ['https://HOOKS.slack.com/services/x', undefined],
    ['https://chat.example:8065/hooks/x', undefined],
    ['https://mattermost.example/hooks/x', undefined],
    ['https://rocket.example:443/hooks/x', undefined],

    [
      'https://chat.example/hooks/x',
      'must be the URL of an incoming webhook at hooks.slack.com or',
    ],
    ['https://hooks.slack.com.evil.example/x', 'must be the URL of'],
    ['https://hooks.slack.com@evil.example/x', 'must be the URL of'],
    ['https://hooks.slack.com/', 'must be the whole URL'],
    ['hooks.slack.com/services/x', 'must be the URL of'],
  ])('%s has the fault %s', (address, fault) => {
    const found = chatUrlFault(SLACK, address, hosts)
    if (fault === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(fault)
  })

  it('is checked at every message, so that nothing is sent to a host that was removed', async () => {
    const { result, bodies } = await send([soldOut()], { to: 'https://old.example/hooks/x' })

    expect(result.kind).toBe('blocked')
    expect(bodies).toEqual([])
  })
})
