import { type Chat, jsonBody, markdownText } from './chat.ts'

const SUPPRESS_EMBEDS = 4

/** A webhook of a channel of Discord. Source: docs.discord.com, "Webhook Resource", Execute Webhook. */
export const DISCORD: Chat = {
  name: 'discord',
  // Of characters: bytes are at least as many.
  maxBytes: 2_000,
  mask: markdownText,
  pathFault: ({ pathname }) =>
    /^\/api\/(v\d+\/)?webhooks\/\d+\/[\w-]+$/.test(pathname)
      ? undefined
      : 'must end with /api/webhooks/, the id and the token',
  bodyOf: (lines) =>
    jsonBody({
      content: lines.join('\n'),
      allowed_mentions: { parse: [] },
      flags: SUPPRESS_EMBEDS,
    }),
  // Unknown Webhook, and an invalid token.
  isGone: ({ answer }) => /"code":\s*(10015|50027)\b/.test(answer),
}
