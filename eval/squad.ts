process.stderr.write('This command is now: cepe eval suite squad <folder> (the same options).\n')
process.exitCode = 1
