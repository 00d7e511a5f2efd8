import { Argument, type Command } from 'commander'
import { act, add, type Commands } from '../describe.ts'

/** Each asks the program itself for what may follow the words before the cursor. */
const SCRIPTS = {
  bash: `_farewatch() {
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  mapfile -t COMPREPLY < <(compgen -W "$("\${COMP_WORDS[0]}" completion words -- "\${before[@]}")" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _farewatch farewatch bin/farewatch`,
  zsh: `_farewatch() { compadd -- \${(f)"$(\${words[1]} completion words -- \${words[2,CURRENT-1]})"} }
compdef _farewatch farewatch bin/farewatch`,
  fish: `complete -c farewatch -f -a '(set -l words (commandline -opc); $words[1] completion words -- $words[2..])'`,
} as const

type Shell = keyof typeof SCRIPTS

export const COMMANDS: Commands = { completion: addCompletion }

/** @param describe makes the program with all commands. */
function addCompletion(completion: Command, describe: () => Promise<Command>): void {
  for (const shell of Object.keys(SCRIPTS) as Shell[]) {
    const from = shell === 'fish' ? '| source' : `> completion.${shell}`
    add(completion, shell, `Print the completion for ${shell}`, { examples: [from] }).action(
      act(async () => void process.stdout.write(`${SCRIPTS[shell]}\n`)),
    )
  }
  add(completion, 'words', 'Print what may follow some words, one a line', {
    examples: ['watch-lists'],
  })
    .addArgument(new Argument('[words...]', 'the words before the cursor'))
    .action(
      act(async (words: string[]) => {
        process.stdout.write(`${wordsAfter(await describe(), words).join('\n')}\n`)
      }),
    )
}

/** The commands, arguments and options that may follow some words. */
export function wordsAfter(program: Command, words: readonly string[]): string[] {
  let command = program
  for (const word of words) {
    command = command.commands.find((one) => one.name() === word) ?? command
  }
  const options = [...program.options, ...command.options]
  const last = options.find(({ long, short }) => [long, short].includes(words.at(-1) ?? ''))
  if (last?.argChoices !== undefined) return last.argChoices
  return [
    ...command.commands.map((one) => one.name()),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    ...options.flatMap(({ long }) => long ?? []),
  ]
}
