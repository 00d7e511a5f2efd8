import { type Chat, jsonBody, withPath } from './chat.ts'

/**
 * An incoming webhook of a workflow of Microsoft Teams, which posts an Adaptive Card. Source: learn.microsoft.com, "Create
 * incoming webhooks with Workflows"; the limit of a message is 28 KB, with all its JSON.
 */
export const TEAMS: Chat = {
  name: 'teams',
  maxBytes: 14_000,
  // A TextRun has no markup and no mentions, other than a TextBlock.
  mask: (line) => line,
  pathFault: withPath,
  bodyOf: (lines) =>
    jsonBody({
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
  // A workflow that was deleted answers 404, one that is switched off 400 or 403 with one of these codes.
  isGone: ({ status, answer }) =>
    status === 404 || /"(WorkflowTriggerNotFound|WorkflowNotFound)"/.test(answer),
}
