import { type Chat, jsonBody, plainText } from './chat.ts'

/**
 * A chat of Telegram, by a bot. The target is `https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>`, as the Bot API
 * would take it from a browser. Source: core.telegram.org/bots/api, sendMessage.
 */
export const TELEGRAM: Chat = {
  name: 'telegram',
  // Of characters: bytes are at least as many.
  maxBytes: 4_096,
  mask: plainText,
  pathFault: ({ pathname, searchParams }) =>
    /^\/bot[\w:-]+\/sendMessage$/.test(pathname) && searchParams.has('chat_id')
      ? undefined
      : 'must end with /bot<token>/sendMessage?chat_id=<chat>',
  // Without parse_mode nothing is read as markup.
  bodyOf: (lines) =>
    jsonBody({ text: lines.join('\n'), link_preview_options: { is_disabled: true } }),
  // The bot was blocked or removed, the chat or the bot was deleted.
  isGone: ({ status, answer }) =>
    status === 401 || status === 403 || (status === 400 && /chat not found/.test(answer)),
}
