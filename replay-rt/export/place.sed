# place.sed - changes the compiler's assembly so that the region works on captured memory. No instruction is touched.
#
# Variables lose their definitions: they lie where the program had them (addresses.s). Functions get a second name, NAME.entry, by which
# driver.c and addresses.s know them. Constants without a name are listed in a table.

# Constructors ran in the program, and are not run again.
s/^\t\.section\t\.(init|fini)_array.*/\t.section\t.not_run_again,"",@progbits/

# A name beyond letters, digits and a few signs stands in quotes. One that is not recognised would be a region that does nothing: no assembler takes it.
s/^\t\.type\t([^",]+),@function.*/&\n\t.weak\t\1.entry\n\t.hidden\t\1.entry\n\t.set\t\1.entry, \1/
s/^\t\.type\t"([^"]+)",@function.*/&\n\t.weak\t"\1.entry"\n\t.hidden\t"\1.entry"\n\t.set\t"\1.entry", "\1"/
s/^\t\.type\t[^\n]*,@function[^\n]*$/\t.error\t"place.sed does not know this name of a function"\n&/

# A definition of data, from its .type to its .size (or .comm), as one piece.
/^\t\.type\t.*,@object/{
  :more
  /\n\t\.(size|comm)\t[^\n]*$/!{
    $!{
      N
      b more
    }
  }
  # locks of critical constructs and caches, which belong to the OpenMP runtime of this process
  /^\t\.type\t(\.gomp_critical_user_|[^\n]*\.cache\.,)/b
  # text and numbers without a name: check.c gets their places and sizes
  /^\t\.type\t"?\.L/{
    /\n\t\.(quad|long)\t["._A-Za-z]/b
    s/\n\t\.size\t([^\n]*)$/&\n\t.section\tpcere_constants,"aw",@progbits\n\t.p2align\t3\n\t.quad\t\1\n\t.previous/
    b
  }
  # constants (a name with a dollar, as lambdas have, stands in quotes): those of the program come first where addresses.s has them
  /\n\t\.section\t"?\.(data\.rel\.ro|rodata)/{
    s/\n\t\.(globl|weak)\t[^\n]*//g
    s/^\t\.type\t("[^"]*"|[^,"]*),@object/\t.weak\t\1\n&/
    b
  }
  /\n\t\.(data|bss|comm\t[^\n]*|section\t[^\n]*,"aw[^\n]*)(\n|$)/d
}
