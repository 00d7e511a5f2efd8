import { type Chat, jsonBody, markdownText, withPath } from './chat.ts'

/**
 * Answers of Slack with status 404 that no later attempt changes. Source: docs.slack.dev, "Incoming webhooks",
 * errors.
 */
const GONE = /^(no_service|no_team|team_disabled|channel_not_found)\b/

/** An incoming webhook of Slack, or of a program with the same form. */
export const SLACK: Chat = {
  name: 'slack',
  maxBytes: 38_000,
  mask: (line, { hostname }) =>
    hostname.endsWith('.slack.com') ? slackText(line) : markdownText(line),
  pathFault: withPath,
  // Slack reads no markup, finds no names of people and channels, and shows no preview of a link.
  bodyOf: (lines) =>
    jsonBody({
      text: lines.join('\n'),
      mrkdwn: false,
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    }),
  isGone: ({ status, answer }) => status === 404 && GONE.test(answer),
}

/** Without markup, three characters still begin a mention or a link: `<!channel>`, `<https://…>`. */
function slackText(line: string): string {
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
