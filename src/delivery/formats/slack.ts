import { BLOCKED, type Format, type Message } from './format.ts'
import { joinSentences, MAX_JOINED } from './sentences.ts'
import type { Transport } from './transport.ts'

interface SlackDeps {
  readonly transport: Pick<Transport, 'post'>
  /** Hosts of incoming webhooks. */
  readonly hosts: readonly string[]
}

/**
 * Answers of Slack with status 404 that no later attempt changes. Source: docs.slack.dev, "Incoming webhooks",
 * errors.
 */
const GONE = /^(no_service|no_team|team_disabled|channel_not_found)\b/

/**
 * What is wrong with the URL of an incoming webhook; undefined if it is valid. The rules for all URLs apply
 * besides.
 */
export function slackUrlFault(address: string, hosts: readonly string[]): string | undefined {
  const url = URL.parse(address)
  // The default port may be written or left out.
  const isAllowed = (host: string) => URL.parse(`${url?.protocol}//${host}`)?.host === url?.host
  if (url !== null && hosts.some(isAllowed)) {
    return url.pathname === '/' ? 'must be the whole URL of an incoming webhook' : undefined
  }
  return `must be the URL of an incoming webhook at ${hosts.join(' or ')}`
}

/**
 * Sends all messages of one request as one message of an incoming webhook of Slack, or of a program with the same
 * form.
 */
export function createSlackFormat({ transport, hosts }: SlackDeps): Format {
  return {
    name: 'slack',
    maxMessages: MAX_JOINED,
    send: async (target, messages, signal) => {
      if (slackUrlFault(target.address, hosts) !== undefined) return BLOCKED
      const isSlack = new URL(target.address).hostname.endsWith('.slack.com')
      const request = { headers: {}, body: JSON.stringify(payloadOf(messages, isSlack)) }
      const result = await transport.post(target, request, signal)
      const isGone = result.kind === 'failed' && result.status === 404 && GONE.test(result.answer)
      if (!isGone) return result
      return { kind: 'gone', outcome: 'gone', status: 404, answer: result.answer }
    },
  }
}

function payloadOf(messages: readonly Message[], isSlack: boolean) {
  const { title, lines } = joinSentences(messages)
  const shown = lines.length === 1 ? lines : [`${title}:`, ...lines.map((line) => `• ${line}`)]
  const text = shown.map(isSlack ? slackText : markdownText).join('\n')
  // Slack reads no markup, finds no names of people and channels, and shows no preview of a link.
  return {
    text,
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  }
}

/** Without markup, three characters still begin a mention or a link: `<!channel>`, `<https://…>`. */
function slackText(line: string): string {
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** For programs that read Markdown whatever the payload says, and mention `@channel` also behind a backslash. */
function markdownText(line: string): string {
  return line.replace(/[\\`*_~[\]<>#|!]/g, '\\$&').replaceAll('@', '\uff20')
}
