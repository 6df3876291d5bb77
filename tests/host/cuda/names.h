// SPDX-License-Identifier: BSD-3-Clause
// What names_there.cu has, for names.cu.
int count_there();
void copy_there(int *counter);
int use_of_other_file();
