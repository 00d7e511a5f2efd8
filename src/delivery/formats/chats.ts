import type { ChatFormat } from '../../platform/base/kinds.ts'
import { BLOCKED, type Format, type PostResult } from './format.ts'
import { joinSentences, MAX_JOINED } from './sentences.ts'
import type { PostBody, Transport } from './transport.ts'

/** A chat service that takes messages at a URL: what its messages and its answers look like. */
interface Chat {
  readonly name: ChatFormat
  /** Of a message, in UTF-8. */
  readonly maxBytes: number
  /** Masks what would be read as markup or as a mention. */
  readonly mask: (line: string, url: URL) => string
  /** What is wrong with the parts of a URL behind its host; undefined if it is valid. */
  readonly pathFault: (url: URL) => string | undefined
  readonly bodyOf: (lines: readonly string[]) => PostBody
  /** Whether a failure says that no later attempt arrives. */
  readonly isGone: (failure: Failure) => boolean
}

type Failure = Extract<PostResult, { readonly kind: 'failed' }>

/**
 * What is wrong with the URL of a chat; undefined if it is valid. The rules for all URLs apply besides.
 * @param hosts those that the operator allows. One that begins with a dot stands for all hosts that end so.
 */
export function chatUrlFault(
  chat: Chat,
  address: string,
  hosts: readonly string[],
): string | undefined {
  const url = URL.parse(address)
  if (url === null || !hosts.some((host) => isAt(url, host))) {
    return `must be the URL of an incoming webhook at ${hosts.join(' or ').replace(/(?<=^| )\./g, '*.')}`
  }
  return chat.pathFault(url)
}

/** The default port may be written or left out. */
function isAt(url: URL, host: string): boolean {
  if (host.startsWith('.')) return url.host.endsWith(host.toLowerCase())
  return URL.parse(`${url.protocol}//${host}`)?.host === url.host
}

/** The path of an incoming webhook holds a token. */
function withPath({ pathname }: URL): string | undefined {
  return pathname === '/' ? 'must be the whole URL of an incoming webhook' : undefined
}

/** Sends all messages of one request as one message of a chat. */
export function createChatFormat(
  chat: Chat,
  {
    transport,
    hosts,
  }: { readonly transport: Pick<Transport, 'post'>; readonly hosts: readonly string[] },
): Format {
  return {
    name: chat.name,
    maxMessages: MAX_JOINED,
    send: async (target, messages, signal) => {
      if (chatUrlFault(chat, target.address, hosts) !== undefined) return BLOCKED
      const url = new URL(target.address)
      const { title, lines } = joinSentences(messages, {
        mask: (line) => chat.mask(line, url),
        maxBytes: chat.maxBytes,
      })
      const shown = lines.length === 1 ? lines : [`${title}:`, ...lines.map((line) => `• ${line}`)]
      const result = await transport.post(target, chat.bodyOf(shown), signal)
      if (result.kind !== 'failed' || !chat.isGone(result)) return result
      const { status, answer } = result
      return { kind: 'gone', outcome: 'gone', status, answer }
    },
  }
}

/** For programs that read Markdown whatever a payload says, and mention `@channel` also behind a backslash. */
function markdownText(line: string): string {
  return line.replace(/[\\`*_~[\]<>#|!]/g, '\\$&').replaceAll('@', '\uff20')
}

/** For programs that read no markup, and find mentions and tags in plain text. */
function plainText(line: string): string {
  return line.replaceAll('@', '\uff20').replaceAll('#', '\uff03')
}

/**
 * Answers of Slack with status 404 that no later attempt changes. Source: docs.slack.dev, "Incoming webhooks",
 * errors.
 */
const GONE = /^(no_service|no_team|team_disabled|channel_not_found)\b/

/** An incoming webhook of Slack, or of a program with the same form. */
const SLACK: Chat = {
  name: 'slack',
  maxBytes: 38_000,
  mask: (line, { hostname }) =>
    hostname.endsWith('.slack.com') ? slackText(line) : markdownText(line),
  pathFault: withPath,
  bodyOf: (lines) => ({
    headers: {},
    // Slack reads no markup, finds no names of people and channels, and shows no preview of a link.
    body: JSON.stringify({
      text: lines.join('\n'),
      mrkdwn: false,
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    }),
  }),
  isGone: ({ status, answer }) => status === 404 && GONE.test(answer),
}

/** Without markup, three characters still begin a mention or a link: `<!channel>`, `<https://…>`. */
function slackText(line: string): string {
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * An incoming webhook of a workflow of Microsoft Teams, which posts an Adaptive Card. Source: learn.microsoft.com, "Create
 * incoming webhooks with Workflows"; the limit of a message is 28 KB, with all its JSON.
 */
const TEAMS: Chat = {
  name: 'teams',
  maxBytes: 14_000,
  // A TextRun has no markup and no mentions, other than a TextBlock.
  mask: (line) => line,
  pathFault: withPath,
  bodyOf: (lines) => ({
    headers: {},
    body: JSON.stringify({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.2',
            body: lines.map((text) => ({
              type: 'RichTextBlock',
              inlines: [{ type: 'TextRun', text }],
            })),
          },
        },
      ],
    }),
  }),
  // A workflow that was deleted answers 404, one that is switched off 400 or 403 with one of these codes.
  isGone: ({ status, answer }) =>
    status === 404 || /"(WorkflowTriggerNotFound|WorkflowNotFound)"/.test(answer),
}

const SUPPRESS_EMBEDS = 4

/** A webhook of a channel of Discord. Source: docs.discord.com, "Webhook Resource", Execute Webhook. */
const DISCORD: Chat = {
  name: 'discord',
  // Of characters: bytes are at least as many.
  maxBytes: 2_000,
  mask: markdownText,
  pathFault: ({ pathname }) =>
    /^\/api\/(v\d+\/)?webhooks\/\d+\/[\w-]+$/.test(pathname)
      ? undefined
      : 'must end with /api/webhooks/, the id and the token',
  bodyOf: (lines) => ({
    headers: {},
    body: JSON.stringify({
      content: lines.join('\n'),
      allowed_mentions: { parse: [] },
      flags: SUPPRESS_EMBEDS,
    }),
  }),
  // Unknown Webhook, and an invalid token.
  isGone: ({ answer }) => /"code":\s*(10015|50027)\b/.test(answer),
}

/**
 * A chat of Telegram, by a bot. The target is `https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>`, as the Bot API
 * would take it from a browser. Source: core.telegram.org/bots/api, sendMessage.
 */
const TELEGRAM: Chat = {
  name: 'telegram',
  // Of characters: bytes are at least as many.
  maxBytes: 4_096,
  mask: plainText,
  pathFault: ({ pathname, searchParams }) =>
    /^\/bot[\w:-]+\/sendMessage$/.test(pathname) && searchParams.has('chat_id')
      ? undefined
      : 'must end with /bot<token>/sendMessage?chat_id=<chat>',
  bodyOf: (lines) => ({
    headers: {},
    // Without parse_mode nothing is read as markup.
    body: JSON.stringify({ text: lines.join('\n'), link_preview_options: { is_disabled: true } }),
  }),
  // The bot was blocked or removed, the chat or the bot was deleted.
  isGone: ({ status, answer }) =>
    status === 401 || status === 403 || (status === 400 && /chat not found/.test(answer)),
}

/**
 * A topic of ntfy. One that is protected takes the token as a header of the endpoint. Source: docs.ntfy.sh, "Publishing"; a
 * longer message would become a file.
 */
const NTFY: Chat = {
  name: 'ntfy',
  maxBytes: 4_096,
  // Without a header that asks for it nothing is read as markup, and there are no mentions.
  mask: (line) => line,
  pathFault: withPath,
  bodyOf: (lines) => ({
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: lines.join('\n'),
  }),
  isGone: () => false,
}

/** Every chat service that farewatch writes to. */
export const CHATS: Readonly<Record<ChatFormat, Chat>> = {
  slack: SLACK,
  teams: TEAMS,
  discord: DISCORD,
  telegram: TELEGRAM,
  ntfy: NTFY,
}

/** The hosts at which the endpoints of each chat may be. */
export type ChatHosts = Readonly<Record<ChatFormat, readonly string[]>>
