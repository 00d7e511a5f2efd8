import type { ChatFormat } from '../../platform/base/kinds.ts'
import type { Chat } from './chat.ts'
import { DISCORD } from './discord.ts'
import { NTFY } from './ntfy.ts'
import { SLACK } from './slack.ts'
import { TEAMS } from './teams.ts'
import { TELEGRAM } from './telegram.ts'

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
