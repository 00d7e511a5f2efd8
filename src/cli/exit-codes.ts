/** What every command answers to the shell; docs/cli.md tells them. */
export const EXIT = {
  ok: 0,
  /** It did not work; the message says why. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** A list was held for review: nothing was applied. */
  held: 3,
  interrupted: 130,
} as const
