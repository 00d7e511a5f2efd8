import { createServer, type Socket } from 'node:net'
import { listenLocally } from './local-server.ts'

/** What the server does at a step instead of its usual answer: answers this line, answers nothing, or drops the connection. */
export type SmtpStep = string | 'hang' | 'drop'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and text as they were sent. */
  readonly raw: string
}

export interface SmtpServer {
  readonly port: number
  readonly mails: ReceivedMail[]
  /** The lines that clients sent outside of messages. */
  readonly commands: string[]
  /** By step: `greeting`, a command, or `message` after the last line of a message. */
  readonly steps: Record<string, SmtpStep | undefined>
  /** Resolves when a step of `hang` or `drop` is reached. */
  reached(): Promise<void>
  close(): Promise<void>
}

const USUAL: Readonly<Record<string, string>> = {
  greeting: '220 test',
  EHLO: '250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN',
  AUTH: '235 ok',
  DATA: '354 go on',
  QUIT: '221 bye',
}

/** A mail server on loopback that keeps what it receives and misbehaves at the steps that the test names. */
export async function startSmtpServer(): Promise<SmtpServer> {
  const steps: SmtpServer['steps'] = {}
  const trouble = Promise.withResolvers<void>()
  const received: Pick<SmtpServer, 'mails' | 'commands'> = { mails: [], commands: [] }
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    const answer = (step: string) => {
      const given = steps[step] ?? USUAL[step] ?? '250 ok'
      if (given === 'hang' || given === 'drop') trouble.resolve()
      if (given === 'drop') socket.destroy()
      else if (given !== 'hang') socket.write(`${given}\r\n`)
    }
    answer('greeting')
    converse(socket, received, answer)
  })
  const { port, close } = await listenLocally(server)
  return {
    ...received,
    port,
    steps,
    reached: () => trouble.promise,
    close,
  }
}

function converse(
  socket: Socket,
  { mails, commands }: Pick<SmtpServer, 'mails' | 'commands'>,
  answer: (step: string) => void,
): void {
  let buffered = ''
  let envelope: { from: string; to: string[] } = { from: '', to: [] }
  let inMessage = false
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    buffered += chunk
    for (;;) {
      const end = inMessage ? '\r\n.\r\n' : '\r\n'
      const at = buffered.indexOf(end)
      if (at < 0) return
      const text = buffered.slice(0, at)
      buffered = buffered.slice(at + end.length)
      if (inMessage) {
        mails.push({ ...envelope, raw: text })
        inMessage = false
        answer('message')
        continue
      }
      commands.push(text)
      const [verb = ''] = text.toUpperCase().split(' ', 1)
      const address = /<([^>]*)>/.exec(text)?.[1] ?? ''
      if (verb === 'MAIL') envelope = { from: address, to: [] }
      if (verb === 'RCPT') envelope.to.push(address)
      inMessage = verb === 'DATA'
      answer(verb)
    }
  })
}
