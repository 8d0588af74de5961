; tests/counts/known.ll - functions whose counts known.c knows by heart.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @outside()
declare void @leave()

define i64 @straight(i64 %a, i64 %b) {
  %s = add i64 %a, %b
  %m = mul i64 %s, %b
  %c = icmp slt i64 %m, %a
  %r = select i1 %c, i64 %s, i64 %m
  ret i64 %r
}

define double @loop(ptr %a, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  %s = phi double [ 0.0, %entry ], [ %t, %head ]
  %p = getelementptr double, ptr %a, i64 %i
  %v = load double, ptr %p
  %t = fadd double %s, %v
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %head, label %exit
exit:
  ret double %t
}

; as for (i = 0; i < n; i++) for (j = 0; j <= i; j++) stands: not at all for n <= 0
define void @triangle(i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %d = icmp slt i64 %i, %n
  br i1 %d, label %before, label %exit
before:
  br label %inner
inner:
  %j = phi i64 [ 0, %before ], [ %j1, %inner ]
  %j1 = add i64 %j, 1
  %c = icmp sle i64 %j1, %i
  br i1 %c, label %inner, label %next
next:
  %i1 = add i64 %i, 1
  br label %outer
exit:
  ret void
}

; doubles what is positive
define void @data(ptr %a, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  %p = getelementptr double, ptr %a, i64 %i
  %v = load double, ptr %p
  %b = fcmp ogt double %v, 0.0
  br i1 %b, label %then, label %latch
then:
  %w = fmul double %v, 2.0
  store double %w, ptr %p
  br label %latch
latch:
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %head, label %exit
exit:
  ret void
}

; goes on without its second block at odd numbers, and ends only from there: the second follows on the first in the end, but not each time
define i64 @continues(i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ], [ %j, %second ]
  %j = add i64 %i, 1
  %o = and i64 %i, 1
  %b = icmp eq i64 %o, 1
  br i1 %b, label %head, label %second
second:
  %c = icmp sge i64 %j, %n
  br i1 %c, label %exit, label %head
exit:
  ret i64 %j
}

; the first of n that is v, by two ways out
define i64 @search(ptr %a, i64 %n, i64 %v) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %more ]
  %p = getelementptr i64, ptr %a, i64 %i
  %x = load i64, ptr %p
  %f = icmp eq i64 %x, %v
  br i1 %f, label %found, label %more
more:
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %head, label %none
found:
  %t = mul i64 %i, 1
  ret i64 %t
none:
  ret i64 -1
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @blocks(ptr %to, ptr %from, i64 %bytes) {
entry:
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, 3
  br i1 %c, label %head, label %exit
exit:
  ret void
}

declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
define double @widths(double %d, float %f, <2 x double> %d2, <4 x double> %d4, <8 x double> %d8, <4 x float> %f4, <8 x float> %f8, <16 x float> %f16) {
  %1 = fadd double %d, %d
  %2 = call double @llvm.sqrt.f64(double %1)
  %3 = call double @llvm.fabs.f64(double %2)
  %4 = fmul float %f, %f
  %5 = fmul float %4, %f
  %6 = fdiv <2 x double> %d2, %d2
  %7 = call <4 x double> @llvm.fma.v4f64(<4 x double> %d4, <4 x double> %d4, <4 x double> %d4)
  %8 = call double @llvm.vector.reduce.fadd.v4f64(double %3, <4 x double> %7)
  %9 = fsub <8 x double> %d8, %d8
  %10 = fadd <4 x float> %f4, %f4
  %11 = fadd <8 x float> %f8, %f8
  %12 = fadd <16 x float> %f16, %f16
  %13 = fpext float %5 to x86_fp80
  %14 = fmul x86_fp80 %13, %13
  ret double %8
}

define void @atomics(ptr %p) {
  %1 = atomicrmw add ptr %p, i64 1 seq_cst
  %2 = cmpxchg ptr %p, i64 0, i64 1 seq_cst seq_cst
  %3 = load atomic i32, ptr %p seq_cst, align 4
  store atomic i32 %3, ptr %p seq_cst, align 4
  fence seq_cst
  ret void
}

define i64 @fibonacci(i64 %n) {
  %c = icmp slt i64 %n, 2
  br i1 %c, label %leaf, label %more
leaf:
  ret i64 %n
more:
  %a = sub i64 %n, 1
  %b = sub i64 %n, 2
  %x = call i64 @fibonacci(i64 %a)
  %y = call i64 @fibonacci(i64 %b)
  %s = add i64 %x, %y
  ret i64 %s
}

; outside looks at the counts each time
define void @looked_at(i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  call void @outside()
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %head, label %exit
exit:
  ret void
}

define void @loop_then_looked_at(ptr %a, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %head, label %exit
exit:
  %r = call double @loop(ptr %a, i64 %n)
  call void @outside()
  %s = fadd double %r, 1.0
  store double %s, ptr %a
  ret void
}

; left by longjmp in the third round, after a loop
define void @left(i64 %n) {
entry:
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %k1, %latch ]
  br label %head
head:
  %i = phi i64 [ 0, %outer ], [ %j, %head ]
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %head, label %test
test:
  %e = icmp eq i64 %k, 2
  br i1 %e, label %away, label %latch
away:
  call void @leave()
  unreachable
latch:
  %k1 = add i64 %k, 1
  br label %outer
}

; calls by turns, without a stack
define i64 @even(i64 %n, ptr %other) {
  %c = icmp eq i64 %n, 0
  br i1 %c, label %end, label %more
end:
  ret i64 1
more:
  %a = sub i64 %n, 1
  %r = musttail call i64 %other(i64 %a, ptr %other)
  ret i64 %r
}
