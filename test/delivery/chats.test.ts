import { describe, expect, it, onTestFinished } from 'vitest'
import {
  CHATS,
  type ChatHosts,
  chatUrlFault,
  createChatFormat,
} from '../../src/delivery/formats/chats.ts'
import type { Message, PostResult, Target } from '../../src/delivery/formats/format.ts'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { CHAT_FORMATS, type ChatFormat } from '../../src/platform/base/kinds.ts'
import { SOLD_OUT, soldOut, TARGET } from './message-fixtures.ts'
import { startReceiver } from './receiver.ts'

const HOSTS: ChatHosts = {
  slack: ['hooks.slack.com', 'chat.example', 'chat.example:8065', 'Rocket.example:443'],
  teams: ['.logic.azure.com', '.api.powerplatform.com'],
  discord: ['discord.com'],
  telegram: ['api.telegram.org'],
  ntfy: ['ntfy.sh'],
}
const TARGETS: Readonly<Record<ChatFormat, string>> = {
  slack: 'https://hooks.slack.com/services/T0/B0/secret',
  teams: 'https://prod-07.westeurope.logic.azure.com:443/workflows/a1/triggers/manual/paths/invoke',
  discord: 'https://discord.com/api/webhooks/123456789012345678/a-token_1',
  telegram: 'https://api.telegram.org/bot12345:AAH_token/sendMessage?chat_id=-1001234',
  ntfy: 'https://ntfy.sh/fares-8f3a',
}

/** Sends messages to a receiver that answers this. Returns the result and what arrived. */
async function send(
  name: ChatFormat,
  messages: readonly Message[],
  answer: Partial<PostResult> = {},
  address = TARGETS[name],
) {
  const requests: { body: string }[] = []
  const transport = {
    post: async (_: Target, request: (typeof requests)[number]) => {
      requests.push(request)
      return { kind: 'delivered', status: 200, answer: '', ...answer } as PostResult
    },
  }
  const format = createChatFormat(CHATS[name], { transport, hosts: HOSTS[name] })
  const target = { ...TARGET, address }
  const result = await format.send(target, messages, new AbortController().signal)
  const [request = { body: '' }] = requests
  return { result, sent: requests.length, body: request.body }
}

/** What a reader sees of a message. */
const SHOWN: Readonly<Record<ChatFormat, (body: string) => string>> = {
  slack: (body) => JSON.parse(body).text,
  teams: (body) =>
    JSON.parse(body)
      .attachments[0].content.body.map(
        ({ inlines }: { inlines: { text: string }[] }) => inlines[0]?.text,
      )
      .join('\n'),
  discord: (body) => JSON.parse(body).content,
  telegram: (body) => JSON.parse(body).text,
  ntfy: (body) => body,
}

it.each(CHAT_FORMATS)('a change is one sentence in %s', async (name) => {
  const { result, body } = await send(name, [soldOut()])

  expect(result.kind).toBe('delivered')
  expect(SHOWN[name](body).replaceAll('\\', '')).toBe(SOLD_OUT)
})

it.each([
  ['slack', 38_000],
  ['teams', 21_000],
  ['discord', 2_000],
  ['telegram', 4_096],
  ['ntfy', 4_096],
] as const)('250 changes with long names keep to the limit of %s', async (name, limit) => {
  const airline = 'Ð*_'.repeat(20)
  const messages = Array.from({ length: 250 }, (_, i) => soldOut({ seq: i + 1, airline }))

  const { body } = await send(name, messages)

  const measured = name === 'teams' ? body : SHOWN[name](body)
  expect(Buffer.byteLength(measured)).toBeLessThanOrEqual(limit)
  const lines = SHOWN[name](body).split('\n')
  const listed = lines.filter((line) => line.includes('sold out')).length
  expect(listed).toBeGreaterThan(5)
  expect(lines[0]).toBe('250 changes of your watched fares:')
  expect(lines.at(-1)).toBe(`• and ${250 - listed} more: numbers ${listed + 1} to 250 of your feed`)
})

it('a message has fifty lines at most, and the others are counted', async () => {
  const { body } = await send(
    'slack',
    Array.from({ length: 90 }, (_, i) => soldOut({ seq: i + 1 })),
  )

  const lines = SHOWN.slack(body).split('\n')
  expect(lines.filter((line) => line === `• ${SOLD_OUT}`)).toHaveLength(50)
  expect(lines.at(-1)).toBe('• and 40 more: numbers 51 to 90 of your feed')
})

const SLACK = {
  ...{ mrkdwn: false, parse: 'none', link_names: false },
  ...{ unfurl_links: false, unfurl_media: false },
}
const MASKED = ['\\*\\*x\\*\\* \uff20all \\[a\\](b)', '\\<\\!channel\\> & \\#town'] as const

it.each<[ChatFormat, string, string, string, object]>([
  ['slack', TARGETS.slack, '**x** \uff20all [a](b)', '&lt;!channel&gt; &amp; #town', SLACK],
  // Programs with the form of Slack read Markdown.
  ['slack', 'https://chat.example/hooks/secret', ...MASKED, SLACK],
  ['discord', TARGETS.discord, ...MASKED, { allowed_mentions: { parse: [] }, flags: 4 }],
  [
    'telegram',
    TARGETS.telegram,
    '**x** \uff20all [a](b)',
    '<!channel> & \uff03town',
    { link_preview_options: { is_disabled: true } },
  ],
  [
    'teams',
    TARGETS.teams,
    '**x** \uff20all [a](b)',
    '<!channel> & #town',
    { type: 'message', attachments: [expect.anything()] },
  ],
])(
  'hostile names are no markup, mention or preview in %s at %s',
  async (name, address, ...shown) => {
    const hostile = soldOut({ airline: '**x** @all [a](b)', reference: '<!channel> & #town' })

    const { body } = await send(name, [hostile], {}, address)

    const [airline, reference, settings] = shown
    const { text: _, content: __, ...rest } = JSON.parse(body)
    expect(SHOWN[name](body)).toContain(airline)
    expect(SHOWN[name](body)).toContain(reference)
    expect(rest).toEqual(settings)
  },
)

it.each([
  ['slack', 404, 'no_service', 'gone'],
  ['slack', 404, 'channel_not_found', 'gone'],
  ['slack', 404, '<html>', 'failed'],
  ['slack', 403, 'no_service', 'failed'],
  ['discord', 404, '{"message": "Unknown Webhook", "code": 10015}', 'gone'],
  ['discord', 401, '{"message": "Invalid Webhook Token", "code": 50027}', 'gone'],
  ['discord', 404, '{"message": "Unknown Channel", "code": 10003}', 'failed'],
  ['telegram', 403, '{"ok":false,"description":"Forbidden: bot was blocked by the user"}', 'gone'],
  ['telegram', 400, '{"ok":false,"description":"Bad Request: chat not found"}', 'gone'],
  ['telegram', 400, '{"ok":false,"description":"Bad Request: message is too long"}', 'failed'],
  ['telegram', 401, '{"ok":false,"description":"Unauthorized"}', 'gone'],
  ['teams', 404, '', 'gone'],
  ['teams', 400, '{"error":{"code":"WorkflowTriggerNotFound"}}', 'gone'],
  ['teams', 400, '{"error":{"code":"TriggerInputSchemaMismatch"}}', 'failed'],
  ['ntfy', 403, '{"code":40301,"error":"forbidden"}', 'failed'],
] as const)('from %s, %i with %s means: %s', async (name, status, answer, kind) => {
  const { result } = await send(name, [soldOut()], {
    kind: 'failed',
    outcome: 'http_4xx',
    status,
    answer,
  })

  expect(result).toMatchObject({ kind, status, answer })
})

describe('the URL of a chat', () => {
  it.each([
    ...Object.entries(TARGETS),
    ['slack', 'https://HOOKS.slack.com/services/x'],
    ['slack', 'https://chat.example:8065/hooks/x'],
    ['slack', 'https://rocket.example/hooks/x'],
  ])('of %s is accepted', (name, address) => {
    const format = name as ChatFormat
    expect(chatUrlFault(CHATS[format], address, HOSTS[format])).toBeUndefined()
  })

  it.each([
    ['slack', 'https://chat.example:8066/hooks/x', 'at hooks.slack.com or'],
    ['slack', 'https://hooks.slack.com.evil.example/x', 'must be the URL of'],
    ['slack', 'https://hooks.slack.com@evil.example/x', 'must be the URL of'],
    ['slack', 'https://hooks.slack.com/', 'must be the whole URL'],
    ['slack', 'hooks.slack.com/services/x', 'must be the URL of'],
    ['discord', 'https://discord.com/channels/1/2', 'must end with /api/webhooks/'],
    ['discord', 'https://discord.com.evil.example/api/webhooks/1/a', 'must be the URL of'],
    ['telegram', 'https://api.telegram.org/bot1:a/sendMessage', 'must end with /bot<token>'],
    ['telegram', 'https://api.telegram.org/bot1:a/getUpdates?chat_id=1', 'must end with'],
    ['teams', 'https://logic.azure.com.evil.example/x', 'at *.logic.azure.com or *.api.power'],
    ['teams', 'https://evil-logic.azure.com/x', 'must be the URL of'],
    ['ntfy', 'https://ntfy.sh/', 'must be the whole URL'],
  ] as const)('of %s may not be %s', (name, address, fault) => {
    expect(chatUrlFault(CHATS[name], address, HOSTS[name])).toContain(fault)
  })
})

it('nothing is sent to the host of a chat that was removed', async () => {
  const { result, sent } = await send('slack', [soldOut()], {}, 'https://old.example/hooks/x')

  expect([result.kind, sent]).toEqual(['blocked', 0])
})

it('takes the headers of an endpoint to its receiver, and shows none of their values in its answers', async () => {
  await using receiver = await startReceiver(({ headers }, response) => {
    response.writeHead(403)
    response.end(`no access for ${headers.authorization}`)
  })
  const policy = { allowHttp: true, allowedNetworks: ['127.0.0.0/8'] }
  const transport = createTransport({ policy, scrub: (text) => text })
  onTestFinished(() => transport.close())
  const hosts = [`127.0.0.1:${receiver.port}`]
  const format = createChatFormat(CHATS.ntfy, { transport, hosts })
  const headers = { authorization: 'Bearer tk_0123456789abcdef' }
  const target = { ...TARGET, address: `${receiver.url}/fares`, headers }

  const result = await format.send(target, [soldOut()], new AbortController().signal)

  expect(receiver.requests[0]?.headers).toMatchObject({
    ...headers,
    'content-type': 'text/plain; charset=utf-8',
  })
  expect(result).toMatchObject({ status: 403, answer: 'no access for [redacted]' })
})
