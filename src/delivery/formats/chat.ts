import type { ChatFormat } from '../../platform/base/kinds.ts'
import { BLOCKED, type Format, type PostResult } from './format.ts'
import { joinSentences, MAX_JOINED } from './sentences.ts'
import type { PostBody, Transport } from './transport.ts'

/** A chat service that takes messages at a URL: what its messages and its answers look like. */
export interface Chat {
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

export type Failure = Extract<PostResult, { readonly kind: 'failed' }>

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

export function jsonBody(message: object): PostBody {
  return { headers: {}, body: JSON.stringify(message) }
}

/** The path of an incoming webhook holds a token. */
export function withPath({ pathname }: URL): string | undefined {
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
export function markdownText(line: string): string {
  return line.replace(/[\\`*_~[\]<>#|!]/g, '\\$&').replaceAll('@', '\uff20')
}

/** For programs that read no markup, and find mentions and tags in plain text. */
export function plainText(line: string): string {
  return line.replaceAll('@', '\uff20').replaceAll('#', '\uff03')
}
